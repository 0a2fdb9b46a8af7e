/** Calls that were approved for good. @typedef {import("../state.js").Remembered} Remembered */

import { h } from "../../render/dom.js";
import { found } from "../reduce_remembered.js";
import { button, entry, failureView, listView, timeView } from "./parts.js";

const FEW = 8; // more are searched
const NONE = "None. When a tool asks whether it may run, you can choose to remember the answer: always.";
const COVERS = { arguments: "", command: "With any arguments · ", tool: "Every call · " };

/** @param {import("../state.js").State} state */
export function rememberedView({ remembered }) {
  const { approvals, phase, failure, search } = remembered;
  const list = { class: "approvals", "aria-label": "Remembered approvals" };
  return listView({
    id: "approvals-title",
    title: "Remembered approvals",
    about:
      "Calls that you always allow: by exact arguments, by command or by tool. They run without asking.",
    failure: failureView(failure, "load_approvals"),
    isLoading: phase === "loading",
    empty: approvals.length || failure ? null : NONE,
    list: [
      (approvals.length > FEW || search !== "") && searchView(remembered),
      h("ul", list, found(remembered).map((approval) => approvalView(approval, remembered))), // prettier-ignore
    ],
  });
}

/** @param {Remembered} remembered */
function searchView(remembered) {
  const { approvals, search: value } = remembered;
  const text = { type: "search", maxlength: "256", autocomplete: "off", placeholder: "in the tool or its arguments" };
  const field = h("input", { ...text, id: "approval-search", "data-field": "search_approvals", value });
  const count = `${found(remembered).length} of ${approvals.length}`;
  return entry("search", "Find", field, h("span", { class: "fine" }, count));
}

/** @param {import("../state.js").Approval} approval @param {Remembered} remembered */
function approvalView({ id, tool, shown, origin, created, remember_for }, { asking, revoking }) {
  const spoken = { "aria-label": `Revoke ${tool} ${shown}`, disabled: revoking !== null };
  const asks = { id: `revoke-${id}`, "data-id": id, ...spoken };
  const sure = { class: "sure", role: "group", "aria-label": `Revoke ${tool}?`, key: "sure" };
  return h("li", { class: "remembered", key: id, "aria-busy": String(revoking === id) }, [
    h("div", {}, h("strong", {}, tool), shown && h("code", { class: "shown" }, shown)),
    h("p", { class: "fine" }, COVERS[remember_for] ?? "", timeView(created), origin && ` · asked by ${origin}`),
    asking !== id
      ? button("ask_revoke", "Revoke…", asks)
      : h("div", sure, [
          h("span", {}, "Ask about it again?"),
          button("keep_approval", "Keep", { id: `keep-${id}` }),
          button("revoke", "Revoke", { id: `sure-${id}` }),
        ]),
  ]);
}
