/**
 * The skills panel: what is on, which hooks it brings, and what is wrong with its files.
 *
 * @typedef {import("../state.js").State} State
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "../strings.js";

/** @param {State} state */
export function skillsView({ skills, diagnostics, settings, server }) {
  const elsewhere = diagnostics
    .filter(({ skill }) => !skills.some(({ name }) => name === skill))
    .map((found) => ({ ...found, file: [found.skill, found.file].filter(Boolean).join("/") }));
  const unused = elsewhere.filter(({ severity }) => severity === "info");
  return [
    h("p", { class: "fine" }, t.skills.help),
    server?.user?.is_operator &&
      h(
        "p",
        { class: "fine", key: "studio" },
        h("a", { href: "/studio.html", target: "_blank", rel: "noopener" }, t.skills.studio),
        t.settings.anotherTab,
      ),
    elsewhere.filter(({ severity }) => severity !== "info").map(diagnosticView),
    skills.length === 0 && h("p", {}, t.skills.none),
    h(
      "ul",
      { class: "skills" },
      skills.map((skill) =>
        skillView(
          skill,
          !settings.skillsOff.includes(skill.name),
          diagnostics.filter((diagnostic) => diagnostic.skill === skill.name),
        ),
      ),
    ),
    unused.length > 0 &&
      h(
        "details",
        { class: "hooks", key: "unused" },
        h("summary", {}, icon("chevron"), t.skills.unused(unused.length)),
        unused.map(diagnosticView),
      ),
  ];
}

/**
 * @param {import("../frames.js").SkillItem} skill
 * @param {boolean} isOn
 * @param {import("../frames.js").Diagnostic[]} diagnostics
 */
function skillView({ name, description, enabled, hooks, tests, triggers = [] }, isOn, diagnostics) {
  return h(
    "li",
    { class: "skill", key: name },
    h(
      "label",
      { class: "switch" },
      h("span", { class: "skill-name" }, name),
      h("input", {
        type: "checkbox",
        role: "switch",
        checked: enabled && isOn,
        disabled: !enabled,
        "data-change": "skill",
        "data-name": name,
      }),
    ),
    h("p", {}, description),
    !enabled && h("p", { class: "fine" }, t.skills.offByOperator),
    diagnostics.map(diagnosticView),
    tests && testsView(tests),
    triggers.length > 0 && h("p", { class: "fine" }, t.skills.speaksFirst(triggers.map(({ name, on }) => `${name} (${on})`).join(", "))),
    hooks.length > 0 &&
      h(
        "details",
        { class: "hooks" },
        h("summary", {}, icon("chevron"), t.skills.hooks(hooks.length)),
        h("ul", {}, hooks.map(hookView)),
      ),
  );
}

/** What came of the skill's own tests when it was last loaded. @param {import("../frames.js").SkillTests} tests */
function testsView({ count, failed, not_run, failures }) {
  const leftOut = not_run > 0 && h("p", { class: "fine" }, t.skills.testsNotRun(not_run));
  if (failures.length === 0) {
    const text = failed === 0 ? t.skills.testsPass(count - not_run) : t.skills.testsFail(failed, count);
    return [h("p", { class: "fine", role: "status" }, text), leftOut];
  }
  return [
    h(
      "details",
      { class: "tests", key: "tests" },
      h("summary", {}, icon("chevron"), h("span", { role: "status" }, t.skills.testsFail(failed, count))),
      h("ul", {}, failures.map(failureView)),
      failed > failures.length && h("p", { class: "fine" }, t.skills.moreFail(failed - failures.length)),
    ),
    leftOut,
  ];
}

/** @param {import("../frames.js").FailedTest} failure */
function failureView({ name, file, line, details }) {
  return h(
    "li",
    { key: `${file}${name}` },
    h("strong", {}, name),
    h("code", { class: "place" }, `${file}:${line}`),
    h("pre", { tabindex: "0" }, details),
  );
}

/** @param {import("../frames.js").HookItem} hook */
function hookView({ name, timing, role, persistent, tool_filter }) {
  return h(
    "li",
    {},
    h("span", { class: "hook-name" }, name),
    h("span", { class: "tag" }, timing),
    h("span", { class: "tag" }, role),
    persistent && h("span", { class: "tag tag-accent" }, t.skills.persistent),
    tool_filter && h("span", { class: "tag" }, t.skills.after(tool_filter.join(", ") || t.skills.noTool)),
  );
}

/** @param {import("../frames.js").Diagnostic} diagnostic */
function diagnosticView({ severity, file, path, message }) {
  const level = severity === "error" ? "error" : severity === "warning" ? "warning" : "info";
  return h(
    "div",
    { class: `line line-${level} diagnostic`, role: "status", key: `${file}${path}${message}` },
    icon(level === "info" ? "info" : "alert"),
    h(
      "p",
      {},
      h("span", { class: "visually-hidden" }, t.skills.levels[level]),
      message,
      (file || path) && h("span", { class: "place" }, file && h("code", {}, file), path && h("code", {}, path)),
    ),
  );
}
