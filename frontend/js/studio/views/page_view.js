/**
 * The frame of the studio: the skill and its files left, the editor in the middle, what is read right, trials below.
 *
 * @import { State } from "../state.js"
 */

import { h } from "../../render/dom.js";
import { icon } from "../../render/icons.js";
import { t } from "../../strings.js";
import { isDirty } from "../state.js";
import { s } from "../../strings/studio.js";
import { addView, describeView, hookFormView } from "./author_view.js";
import { editorView } from "./editor_view.js";
import { button, fine } from "./parts.js";
import { previewView } from "./preview_view.js";
import { testsView, trialView } from "./trial_view.js";

/** @param {State} state */
export function pageView(state) {
  const { announcements, listing, skills } = state;
  const log = { class: "visually-hidden", role: "log", "aria-live": "polite", "aria-label": s.happened };
  return [
    h("header", { class: "standing-head" }, h("h1", {}, h("a", { href: "/" }, "Parley"))),
    h("main", { class: "studio" }, [
      h("div", { class: "studio-title" }, h("h2", { id: "title", tabindex: "-1" }, s.title), fine(s.help)),
      failureView(state),
      !state.isOn && h("p", { class: "line line-warning", key: "off" }, s.isOff),
      state.isOn &&
        listing &&
        !listing.is_writable &&
        h("p", { class: "line line-warning", key: "read-only" }, s.readOnly),
      skills && filesView(state),
      !listing && addView(state),
      listing &&
        h("div", { class: "studio-middle", key: "middle" }, [
          addView(state),
          hookFormView(state),
          editorView(state),
          describeView(state),
          testsView(state),
          trialView(state),
        ]),
      listing && previewView(state),
    ]),
    h(
      "div",
      log,
      announcements.map(({ n, text }) => h("p", { key: n }, text)),
    ),
  ];
}

/** @param {State} state */
function failureView({ failure, skills, skill, listing }) {
  if (!failure) return null;
  const login = { class: "button small", href: "/login", target: "_blank", rel: "noopener" };
  const retry = skills && listing ? "refresh" : skills && skill ? "open_skill" : "load_skills";
  return h("div", { class: "line line-error", role: "alert", key: "failure" }, [
    icon("alert"),
    h("p", {}, failure.message),
    failure.kind === "login" && h("a", login, t.login.submit),
    failure.kind !== "refused" && button(retry, s.again, { "data-skill": skill }),
  ]);
}

/** @param {State} state */
function filesView(state) {
  const { skills, skill, listing, isOn, form } = state;
  const options = (skills ?? []).map(({ name }) =>
    h("option", { value: name, selected: name === skill, key: name }, name),
  );
  const isWritable = Boolean(listing?.is_writable);
  return h("nav", { class: "studio-files", "aria-label": s.files, key: "files" }, [
    options.length > 0
      ? h(
          "label",
          { class: "field", key: "skill" },
          h("span", {}, s.skill),
          h("select", { "data-field": "open_skill", "data-as": "skill" }, options),
        )
      : fine(s.noSkills),
    h("div", { class: "studio-bar" }, [
      isOn && formButton("skill", s.newSkill, form),
      isOn && formButton("add", s.addSkill, form),
      isWritable && formButton("rename_skill", s.renameSkill, form),
      isWritable && button("delete_skill", s.removeSkill),
      listing && button("download", s.zip),
    ]),
    (form === "skill" || form === "rename_skill") && formView(state, s.skillName, s.skillNameHelp),
    listing && h("h3", { id: "files-title" }, s.files),
    listing &&
      h(
        "ul",
        { "aria-labelledby": "files-title" },
        pathsOf(state).map((path) => fileView(state, path)),
      ),
    isWritable &&
      h("div", { class: "studio-bar", key: "of-file" }, [
        formButton("hook", s.newHook, form),
        formButton("file", s.newFile, form),
        formButton("rename", s.rename, form, !state.buffers[state.path]?.etag || isDirty(state.buffers[state.path])),
        button("delete_file", s.remove, { disabled: !state.buffers[state.path] }),
      ]),
    (form === "file" || form === "rename") && formView(state, s.fileName, s.fileNameHelp),
  ]);
}

/** Those on disk, then those that are new here. @param {State} state */
function pathsOf({ listing, buffers }) {
  const there = (listing?.files ?? []).map(({ path }) => path);
  return [...there, ...Object.keys(buffers).filter((path) => !there.includes(path))];
}

/** @param {State} state @param {string} path */
function fileView({ path: open, listing, buffers }, path) {
  const isFixed = listing?.files.some((file) => file.path === path && file.etag === null);
  const marks = { class: "studio-file", "data-path": path, "aria-current": path === open ? "true" : null, key: path };
  return h("li", { key: path }, [
    button("open_file", [path, isDirty(buffers[path]) && h("span", { class: "tag tag-warning" }, s.edited)], marks),
    isFixed && h("span", { class: "fine" }, s.fixed),
  ]);
}

/** @param {import("../state.js").Form} form @param {string} label @param {State["form"]} open @param {boolean} [disabled] */
function formButton(form, label, open, disabled = false) {
  return button("form", label, { "data-form": form, "aria-expanded": String(open === form), key: form, disabled });
}

/** @param {State} state @param {string} label @param {string} help */
function formView({ form, name }, label, help) {
  const field = {
    id: "name",
    type: "text",
    value: name,
    "data-field": "name",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "name-help",
  };
  return h("form", { class: "studio-form", key: "form" }, [
    h("label", {}, h("span", {}, label), h("input", field)),
    h("p", { class: "fine", id: "name-help" }, help),
    h("div", { class: "studio-bar" }, [
      h(
        "button",
        { type: "submit", class: "button small primary" },
        form === "skill" || form === "file" ? s.create : s.rename,
      ),
      button("form", s.cancel, { "data-form": form }),
    ]),
  ]);
}
