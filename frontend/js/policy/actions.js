/**
 * What a click or an input means: `data-action` and `data-field` → event. Pure.
 *
 * @typedef {import("./reduce.js").Event} Event
 * @typedef {import("./edits.js").Edit} Edit
 * @typedef {import("./document.js").Stage} Stage
 * @typedef {{value: string, checked: boolean}} Field
 */

/** @param {DOMStringMap} data @returns {Event | null} */
export function clicked(data) {
  const { action, key = "", id = "", row = "" } = data;
  const stage = /** @type {Stage} */ (data.stage);
  switch (action) {
    case "add":
      return edit({ edit: "add", stage, handlerType: data.type ?? "" });
    case "remove":
      return edit({ edit: "remove", stage, key });
    case "up":
      return edit({ edit: "move", stage, key, by: -1 });
    case "down":
      return edit({ edit: "move", stage, key, by: 1 });
    case "add-argument":
      return edit({ edit: "add_argument", stage, key });
    case "remove-argument":
      return edit({ edit: "remove_argument", stage, key, row });
    case "show-form":
      return { type: "show_text", isText: false };
    case "show-text":
      return { type: "show_text", isText: true };
    case "take-stage":
      return { type: "take_stage", stage };
    case "toggle-entry":
      return { type: "toggle_entry", id: Number(id) };
    case "ask-revoke":
      return { type: "ask_revoke", id };
    default:
      return plain(action);
  }
}

/** Those that say everything by their name. @param {string | undefined} action @returns {Event | null} */
function plain(action) {
  switch (action) {
    case "undo":
    case "reload":
    case "discard":
    case "stay":
    case "save":
    case "verify":
    case "revoke":
      return { type: action };
    case "load-policy":
      return { type: "load_policy" };
    case "keep-mine":
      return { type: "keep_mine" };
    case "take-theirs":
      return { type: "take_theirs" };
    case "ask-audit":
      return { type: "show", view: "audit" };
    case "clear-filter":
      return { type: "clear_filter" };
    case "export":
      return { type: "exporting" };
    case "more-audit":
      return { type: "more_audit" };
    case "load-approvals":
      return { type: "load_approvals" };
    case "keep-approval":
      return { type: "keep_approval" };
    default:
      return null;
  }
}

/** @param {DOMStringMap} data @param {Field} field @returns {Event | null} */
export function entered(data, { value, checked }) {
  const { key = "", row = "", name = "" } = data;
  const stage = /** @type {Stage} */ (data.stage);
  switch (data.field) {
    case "mode":
      return edit({ edit: "mode", stage, mode: /** @type {import("./edits.js").Mode} */ (value) });
    case "type":
      return edit({ edit: "set", stage, key, change: { type: value } });
    case "tools":
      return edit({ edit: "set", stage, key, change: { tools: value } });
    case "config":
      return edit({ edit: "set", stage, key, change: { config: value } });
    case "locked":
      return edit({ edit: "set", stage, key, change: { locked: checked } });
    case "permission":
      return edit({ edit: "permission", stage, key, name, isOn: checked });
    case "argument-name":
      return edit({ edit: "set_argument", stage, key, row, change: { name: value } });
    case "argument-glob":
      return edit({ edit: "set_argument", stage, key, row, change: { glob: value } });
    case "text":
      return { type: "edit_text", text: value };
    case "approvals":
      return { type: "search_approvals", text: value };
    case "filter":
      return { type: "edit_filter", name: /** @type {import("./state.js").FilterName} */ (name), value };
    case "scope":
      return { type: "choose_scope", scope: /** @type {import("./state.js").Scope} */ (value) };
    default:
      return null;
  }
}

/** @param {Edit} change @returns {Event} */
function edit(change) {
  return { type: "edit", edit: change };
}
