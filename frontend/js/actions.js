/**
 * Events of clicks and changes: `data-action` and `data-change` → event. Pure;
 * ids and the time come in with `now`.
 *
 * @typedef {import("./reduce.js").Event} Event
 * @typedef {{id: () => string, time: () => number}} Now
 */

/** @param {DOMStringMap} data @param {Now} now @returns {Event | null} */
export function clicked(data, now) {
  switch (data.action) {
    case "new":
      return { type: "new_conversation", id: now.id(), at: now.time() };
    case "open":
      return { type: "open_conversation", id: data.id ?? "", at: now.time() };
    case "edit-approval":
      return { type: "edit_approval", id: data.id ?? "" };
    case "detach":
      return { type: "detach", id: data.id ?? "" };
    case "stop":
      return { type: "stop" };
    case "retry":
      return { type: "retry", turnId: now.id(), at: now.time() };
    case "retry-without-unverified":
      return { type: "retry_without_unverified", turnId: now.id(), at: now.time() };
    case "edit-message":
      return { type: "edit_message", turnId: data.turn ?? null };
    case "leave-editor":
      return { type: "edit_message", turnId: null };
    case "ask-again":
      return { type: "ask_again", asked: data.turn ?? "", turnId: now.id(), at: now.time() };
    case "switch-branch":
      return { type: "switch_branch", turnId: data.turn ?? "" };
    case "read-aloud":
      return { type: "read_aloud", turnId: data.turn ?? "", id: now.id() };
    case "hear-voice":
      return { type: "hear_voice", id: now.id() };
    case "inspect":
      return { type: "inspect", turnId: data.turn ?? null };
    case "inspect-all":
      return { type: "inspect", turnId: null };
    case "suggest":
      return { type: "suggest", text: data.text ?? "" };
    case "pin":
      return { type: "pin", id: data.id ?? "", at: now.time() };
    case "clear":
      return { type: "clear" };
    case "delete":
      return { type: "delete", id: data.id ?? "", nextId: now.id(), at: now.time() };
    case "list-actions":
      return { type: "list_actions", id: data.id ?? "" };
    case "leave-actions":
      return { type: "list_actions", id: null };
    case "undo":
      return { type: "undo", at: now.time() };
    case "dismiss-undo":
      return { type: "dismiss_undo" };
    case "dismiss-notice":
      return { type: "dismiss_notice", code: data.code ?? "" };
    case "export-json":
      return { type: "export", format: "json" };
    case "export-turn":
      return { type: "export_turn", id: data.id ?? "" };
    case "export-markdown":
      return { type: "export", format: "markdown" };
    case "panel":
      return { type: "panel", panel: /** @type {import("./state.js").Panel} */ (data.panel) };
    case "widen-panel":
      return { type: "widen_panel" };
    case "models":
      return { type: "models", isOpen: true };
    case "close-models":
      return { type: "models", isOpen: false };
    case "pick-model":
      return { type: "pick_model", key: data.key ?? "" };
    case "download-model":
      return { type: "download_model", name: data.key ?? "" };
    case "stop-download":
      return { type: "stop_download" };
    case "open-sidebar":
      return { type: "sidebar", isOpen: true };
    case "close-sidebar":
      return { type: "sidebar", isOpen: false };
    case "microphone":
      return { type: "microphone" };
    case "mute":
      return { type: "mute" };
    case "fold-talk":
      return { type: "fold_talk" };
    case "talk-mode":
      return { type: "set", change: { turnDetection: data.mode === "push_to_talk" ? "push_to_talk" : "server_vad" } };
    case "show-hooks":
      return { type: "show_hooks", skill: data.name ?? "" };
    case "trace-on":
      return { type: "set", change: { trace: true } };
    default:
      return null;
  }
}

const SWITCHES = new Set(["tools", "trace", "nudges"]);

/** @param {DOMStringMap} data @param {{value: string, checked: boolean}} field @returns {Event | null} */
export function changed({ change, name = "", id = "" }, { value, checked }) {
  switch (change) {
    case "rename":
      return { type: "rename", id, title: value };
    case "skill":
      return { type: "toggle_skill", name };
    case "setting":
      return { type: "set", change: SWITCHES.has(name) ? { [name]: checked } : { [name]: value } };
    default:
      return null;
  }
}
