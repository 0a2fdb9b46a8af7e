import assert from "node:assert/strict";
import { test } from "node:test";

import { verdict } from "../../frontend/js/policy/reduce_audit.js";
import { pageView } from "../../frontend/js/policy/views/page_view.js";
import { PolicyPage, OFFLINE, withId } from "./policy_support.js";
import { elements, ofType, textOf, withAttribute } from "./support.js";

const DAY = { replica: "one", day: "2026-11-22", previous: "", entries: 2, last_hash: "ff00", is_closed: true };
const days = [DAY, { ...DAY, day: "2026-11-23", is_closed: false }];
const pruned = [{ replica: "one", day: "2026-08-22", entries: 7, last_hash: "ee00" }];
const WHOLE = { is_whole: true, problems: [], days, pruned };
const opened = (isOperator = true) =>
  new PolicyPage()
    .dispatch({ type: "principal", principal: { user: "ann", isOperator } })
    .dispatch({ type: "show", view: "audit" });

test("an operator has the log verified, once at a time, and sees each day's last hash", () => {
  const page = opened().dispatch({ type: "verify" }).dispatch({ type: "verify" });
  assert.equal(ofType(page.effects, "verify").length, 1);
  assert.equal(withId(pageView(page.state), "verify").attributes["aria-disabled"], "true");
  page.dispatch({ type: "verified", found: WHOLE });

  const text = textOf(pageView(page.state));
  assert.match(text, /4 entries of 2 days: unchanged\./);
  assert.match(text, /one 2026-11-22, closed, entries: 2 ff00/);
  assert.match(text, /one 2026-08-22, deleted as too old, entries: 7 ee00/);
  assert.equal(page.state.announcements.at(-1).text, verdict(WHOLE));
});

test("where the log is not what was written it is said, each place of it", () => {
  const problems = ["one 2026-11-22: entry 2 was changed"];
  const page = opened().dispatch({ type: "verified", found: { is_whole: false, problems, days: [DAY], pruned: [] } });

  const text = textOf(pageView(page.state));
  assert.match(text, /2 entries of 1 day: changed in 1 place\./);
  assert.match(text, /entry 2 was changed/);
});

test("a verification that could not be made says nothing of the log, and can be asked for again", () => {
  const page = opened().dispatch({ type: "verified", found: WHOLE }).dispatch({ type: "verify" });
  page.dispatch({ type: "verify_failed", failure: OFFLINE });

  const section = withAttribute(pageView(page.state), "class", "verification")[0];
  assert.match(textOf(section), /No server\./);
  assert.doesNotMatch(textOf(section), /unchanged/);
  page.dispatch({ type: "verify" });
  assert.equal(page.state.verification.failure, null);
});

test("a user who is no operator is not offered it", () => {
  const buttons = elements(pageView(opened(false).state)).filter(({ tag }) => tag === "button");

  assert.ok(buttons.every(({ attributes }) => attributes["data-action"] !== "verify"));
});
