/**
 * One handler: what it is, for which calls, and how it is set, each field with what is wrong with it.
 *
 * @import { DraftHandler, Handler, Problem, Stage } from "../document.js"
 * @import { Kind } from "../state.js"
 * @import { Attributes, Child } from "./parts.js"
 * @typedef {ReturnType<typeof fieldsOf>} Fields
 * @typedef {{stage: Stage, index: number, count: number, kinds: readonly Kind[], mayLock: boolean,
 *   problems: readonly Problem[]}} Place problems: of the whole document
 */

import { h } from "../../render/dom.js";
import { p } from "../../strings/policy.js";
import { PERMISSIONS, isSame, placeOf } from "../document.js";
import { button, entry, select } from "./parts.js";

/** One that cannot be changed here. @param {Handler} handler @param {number} key @param {string} note */
export function sketchView({ type, filter, config = {} }, key, note) {
  const { tools, permissions, arguments: wanted } = filter ?? {};
  const globs = Object.entries(wanted ?? {}).map(([name, glob]) => `${name}: ${glob}`);
  const words = [tools, permissions, globs].flatMap((list) => (list?.length ? list.join(", ") : []));
  const set = Object.keys(config).length > 0 && [p.rule.set, h("code", {}, JSON.stringify(config))];
  return h("li", { class: "handler sketch", key }, [
    h("strong", {}, type),
    h("span", { class: "fine" }, words.length ? p.rule.forSome(words.join("; ")) : p.rule.forEvery, set),
    note && h("span", { class: "tag tag-warning" }, note),
  ]);
}

/** @param {DraftHandler} handler @param {Place} place */
export function handlerView(handler, place) {
  const { key, type, tools, config, locked } = handler;
  const fields = fieldsOf(handler, place);
  const isWrong = ["tools", "permissions", "arguments", "config", "locked"].some(fields.problem);
  const settings = place.kinds.find(({ name }) => name === type)?.settings;
  const known = settings?.length ? p.rule.known(settings.join(", ")) : p.rule.noSettings;
  return h("li", { class: "handler", key, "data-handler": key }, [
    h("fieldset", { class: "bare" }, [
      h("legend", { class: "visually-hidden" }, `${place.index + 1}. ${type}`),
      headView(handler, place, fields),
      fields.problem("type"),
      fields.problem(""),
      h("details", { open: handler.isOpen }, [
        h("summary", {}, [
          h("span", { class: "fine" }, p.rule.filter),
          isWrong && h("span", { class: "problem" }, p.rule.hasProblem),
        ]),
        fields.text("tools", p.rule.tools, tools, { placeholder: p.rule.toolsHint }),
        fields.group("permissions", p.rule.permissions, permissionsView(handler, fields.data)),
        fields.group("arguments", p.rule.arguments, argumentsView(handler, fields.data)),
        fields.text("config", p.rule.settings, config, { class: "code", placeholder: p.rule.settingsHint }, [
          h("span", { class: "fine hint" }, settings ? known : p.rule.ownSettings),
        ]),
        place.mayLock &&
          h("label", { class: "switch", key: "locked" }, [
            h("span", {}, h("strong", {}, p.rule.locked), h("span", { class: "fine" }, p.rule.lockedHelp)),
            h("input", { ...fields.sets("locked"), type: "checkbox", role: "switch", checked: locked }),
          ]),
        fields.problem("locked"),
      ]),
    ]),
  ]);
}

/** What all fields of a handler have in common. @param {DraftHandler} handler @param {Place} place */
function fieldsOf({ key }, { stage, index, problems }) {
  const data = { "data-stage": stage, "data-key": key };
  /** @param {string} field */
  const wrong = (field) =>
    problems.flatMap((one) => (isSame(placeOf(one), { stage, index, field }) ? one.message : [])).join("; ");
  /** No alert: it would interrupt with each letter. The field is described by it. @param {string} name */
  const problem = (name) =>
    wrong(name) && h("p", { class: "problem", id: `problem-${name}-${key}`, key: `problem-${name}` }, wrong(name));
  /** @param {string} name */
  const described = (name) => {
    return { id: `${name}-${key}`, "aria-describedby": wrong(name) ? `problem-${name}-${key}` : null };
  };
  /** A field that sets one thing. @param {string} name */
  const sets = (name) => {
    const invalid = { "aria-invalid": wrong(name) ? "true" : null };
    return { ...described(name), ...data, ...invalid, "data-field": "set", "data-name": name };
  };
  /** Several fields for one thing. @param {string} name @param {string} label @param {Child} content */
  const group = (name, label, content) => {
    const spoken = { "aria-label": p.rule.emptyIsAll(label) };
    const its = { ...described(name), ...spoken, class: "entry", tabindex: "-1", role: "group", key: name };
    return [h("div", its, h("span", {}, label), content), problem(name)];
  };
  /** @param {string} name @param {string} label @param {string} value @param {Attributes} more @param {Child} [hint] */
  const text = (name, label, value, more, hint) => {
    const rows = Math.min(12, value.split("\n").length);
    const field = h("textarea", { ...sets(name), spellcheck: "false", rows, value, ...more });
    return [entry(name, label, field, hint), problem(name)];
  };
  return { data, group, problem, sets, text };
}

/** @param {DraftHandler} handler @param {Place} place @param {Fields} fields */
function headView({ key, type }, { stage, index, count, kinds }, fields) {
  const fitting = kinds.filter(({ stages }) => stages.includes(stage)).map(({ name }) => name);
  const names = fitting.includes(type) ? fitting : [type, ...fitting]; // one that is wrong here is shown, too
  /** @param {string} action @param {string} name @param {string} label @param {string} sign @param {Attributes} [more] */
  const small = (action, name, label, sign, more) => {
    const spoken = { class: "button icon-only small", "aria-label": p.rule.action(label, type), title: label };
    return button(action, sign, { ...fields.data, id: `${name}-${key}`, key: name, ...spoken, ...more });
  };
  const up = { "data-by": -1, disabled: index === 0 };
  const down = { "data-by": 1, disabled: index === count - 1 };
  return h("div", { class: "handler-head" }, [
    h("span", { class: "number", "aria-hidden": "true" }, index + 1),
    select({ ...fields.sets("type"), "aria-label": p.rule.number(index + 1) }, names.map((name) => [name, name]), type),
    h("span", { class: "fine description" }, kinds.find(({ name }) => name === type)?.description),
    h("span", { class: "handler-buttons" }, [
      small("move", "up", p.rule.up, "↑", up),
      small("move", "down", p.rule.down, "↓", down),
      small("remove", "remove", p.rule.remove, "×"),
    ]),
  ]);
}

/** @param {DraftHandler} handler @param {Attributes} data */
function permissionsView({ permissions }, data) {
  const boxes = PERMISSIONS.map((name) => {
    const field = { ...data, "data-field": "permission", "data-name": name };
    const box = h("input", { ...field, type: "checkbox", checked: permissions.includes(name) });
    return h("label", { key: name }, box, name);
  });
  return h("span", { class: "boxes" }, boxes);
}

/** @param {DraftHandler} handler @param {Attributes} data */
function argumentsView(handler, data) {
  const rows = handler.arguments.map(({ name, glob }, index) => {
    const its = { ...data, "data-row": index };
    const text = { ...its, type: "text", autocomplete: "off", spellcheck: "false", "data-field": "set" };
    const named = { id: `argument-${handler.key}-${index}`, "data-name": "name", "aria-label": p.rule.argumentName };
    const label = name ? p.rule.pattern(name) : p.rule.patternUnnamed;
    const removing = { ...its, class: "button icon-only small", "aria-label": p.rule.removeArgument(name) };
    return h("div", { class: "argument", key: index }, [
      h("input", { ...text, ...named, placeholder: "path", value: name }),
      h("input", { ...text, "data-name": "glob", "aria-label": label, placeholder: "*.env", value: glob }),
      button("remove_argument", "×", removing),
    ]);
  });
  return h("div", { class: "arguments" }, rows, button("add_argument", p.rule.addArgument, data));
}
