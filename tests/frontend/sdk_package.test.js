import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const SDK = new URL("../../frontend/sdk/", import.meta.url);

/** Every module that this one loads, sooner or later, by its URL: imports, and what runs in the audio threads. */
function loadedBy(url, found = new Map()) {
  if (found.has(url.href)) return found;
  const source = readFileSync(url, "utf8");
  found.set(url.href, source);
  for (const [, name] of source.matchAll(/(?:\bfrom |\bimport |import\(|new URL\()"(\.[^"]+\.js)"(?!\)\.)/g))
    loadedBy(new URL(name, url), found);
  return found;
}

test("the client library loads nothing of the page", () => {
  const urls = [...loadedBy(new URL("parley.js", SDK)).keys()];

  assert.ok(
    urls.some((url) => url.endsWith("capture_worklet.js")),
    "what it loads is found",
  );
  for (const url of urls) assert.ok(url.startsWith(SDK.href), url);
});

test("no module of the library has a template in a template", () => {
  const modules = new Map([...loadedBy(new URL("parley.js", SDK)), ...loadedBy(new URL("talk.js", SDK))]);
  // what takes the comments out as they are served does not read these, and would close up their spaces
  for (const [url, source] of modules) assert.doesNotMatch(source, /`[^`]*\$\{[^}`]*`/, url);
});

test("the package has all that it promises and loads", () => {
  const { exports, files, types } = JSON.parse(readFileSync(new URL("package.json", SDK), "utf8"));
  const named = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  for (const file of [...named, types, "LICENSE", "README.md"]) assert.ok(existsSync(new URL(file, SDK)), file);
  for (const file of named.filter((name) => name.endsWith(".d.ts"))) assert.ok(files.includes(file.slice(2)), file);

  const loaded = ["parley.js", "talk.js"].flatMap((name) => [...loadedBy(new URL(name, SDK)).keys()]);
  const isPacked = (path) => (path.includes("/") ? files.includes(path.split("/")[0]) : files.includes("*.js"));
  for (const url of loaded) assert.ok(isPacked(url.slice(SDK.href.length)), url);
});
