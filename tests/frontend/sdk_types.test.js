import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const USER = mkdtempSync(join(tmpdir(), "parley-types-"));
after(() => rmSync(USER, { recursive: true }));

const FILES = {
  "package.json": '{ "type": "module" }',
  "node_modules/react/package.json": '{ "exports": { ".": "./index.d.ts", "./jsx-runtime": "./jsx-runtime.d.ts" } }',
  "node_modules/react/index.d.ts": `
    export interface HTMLAttributes<T> { className?: string }
    export type DetailedHTMLProps<A, T> = A;
    export namespace JSX { interface IntrinsicElements {} }`,
  "node_modules/react/jsx-runtime.d.ts": `
    import type { JSX as Own } from "./index.js";
    export namespace JSX { interface IntrinsicElements extends Own.IntrinsicElements {} }`,
  "page.tsx": `
    import { Parley, type Options } from "parley-client";
    import type {} from "parley-client/react";
    import { ParleyTalkElement, type ParleyTalkAttributes } from "parley-client/talk.js";

    const attributes: ParleyTalkAttributes = { label: "Ask" };
    const element: ParleyTalkElement = new ParleyTalkElement();
    const found = document.querySelector("parley-talk");
    if (found) found.options = { speak: "always" } satisfies Options;
    await new Parley().talk();
    await element.toggle();
    export const page = <parley-talk {...attributes} className="big" push-to-talk />;
    // @ts-expect-error: not a text
    export const wrong = <parley-talk label={7} />;`,
};
cpSync(join(ROOT, "frontend/sdk"), join(USER, "node_modules/parley-client"), { recursive: true });
for (const [name, text] of Object.entries(FILES)) {
  mkdirSync(join(USER, name, ".."), { recursive: true });
  writeFileSync(join(USER, name), text);
}

for (const [module, resolution] of [
  ["node16", "node16"],
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
]) {
  test(`the package has types for pages and JSX under the module resolution ${resolution}`, () => {
    const options = [
      "--noEmit",
      "--strict",
      "--target",
      "es2023",
      "--module",
      module,
      "--moduleResolution",
      resolution,
    ];
    const tsc = [join(ROOT, "node_modules/typescript/bin/tsc"), ...options, "--jsx", "react-jsx", "page.tsx"];
    const { stdout, status } = spawnSync(process.execPath, tsc, { cwd: USER, encoding: "utf8" });

    assert.equal(stdout, "");
    assert.equal(status, 0);
  });
}
