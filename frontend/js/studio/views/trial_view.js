/**
 * The tests of the skill, and the model asked with both versions.
 *
 * @import { State } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { s } from "../../strings/studio.js";
import { box, button, fine } from "./parts.js";

/** @param {State} state */
export function testsView({ preview }) {
  if (!preview) return null;
  const { count, failed, not_run: left, failures } = preview.tests;
  const sum = [failed ? s.testsFail(failed, count) : s.testsPass(count), left > 0 && s.testsLeft(left)]
    .filter(Boolean)
    .join(" ");
  return h("section", { class: "studio-tests", "aria-labelledby": "tests-title", key: "tests" }, [
    h("h3", { id: "tests-title" }, s.tests),
    h("p", { class: failed ? "problem" : "fine", role: "status" }, count ? sum : s.noTests),
    h("ul", {}, failures.map(testView)),
  ]);
}

/** @param {import("../state.js").FailedTest} test */
function testView({ name, file, line, details }) {
  const place = { "data-path": file, "data-line": line, "aria-label": s.goTo(file, line) };
  return h("li", { class: "studio-test", key: `${file} ${name}` }, [
    h(
      "p",
      {},
      h("span", { class: "tag tag-warning" }, s.failed),
      " ",
      name,
      " ",
      button("go_to", `${file}:${line}`, place),
    ),
    h("pre", { tabindex: "0" }, details),
  ]);
}

/** @param {State} state */
export function trialView({ question, preview, trial, isTrying }) {
  return h("section", { class: "studio-trial", "aria-labelledby": "trial-title", key: "trial" }, [
    h("h3", { id: "trial-title" }, s.trial),
    fine(s.trialHelp),
    preview?.is_last_working && fine(s.trialLastWorking),
    h("div", { class: "studio-bar" }, [
      button("try_it", isTrying ? s.stop : s.ask, {
        class: `button small ${isTrying ? "" : "primary"}`,
        disabled: !question.text.trim(),
      }),
      question.text.trim() ? h("q", { class: "fine" }, question.text) : h("span", { class: "fine" }, s.noQuestion),
    ]),
    box("tryTools", s.trialTools, question.tryTools),
    trial &&
      h("div", { class: "studio-answers" }, [
        answerView(s.versions.saved, trial.saved, isTrying),
        answerView(s.versions.edited, trial.edited, isTrying),
      ]),
  ]);
}

/** @param {string} title @param {import("../state.js").Answer} answer @param {boolean} isTrying */
function answerView(title, { text, tools, end }, isTrying) {
  return h("article", { "aria-label": title, "aria-busy": String(isTrying && !end), key: title }, [
    h("h4", {}, title),
    tools.length > 0 && fine(s.called(tools.join(", "))),
    h("p", { class: "studio-answer" }, text || (isTrying && !end && s.waiting)),
    end?.message && h("p", { class: "problem", role: "alert" }, end.message),
  ]);
}
