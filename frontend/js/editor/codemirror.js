/**
 * CodeMirror as `<code-editor>` uses it. Loading this module fails where frontend/vendor/codemirror was not installed.
 *
 * @import { Suggestion } from "./completion.js"
 * @import { Page, Settings, Surface } from "./code_editor.js"
 * @import { CompletionContext } from "../../vendor/codemirror/codemirror-autocomplete.js"
 */

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  insertBracket,
  pickedCompletion,
  startCompletion,
} from "../../vendor/codemirror/codemirror-autocomplete.js";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "../../vendor/codemirror/codemirror-commands.js";
import { json } from "../../vendor/codemirror/codemirror-lang-json.js";
import { yaml, yamlFrontmatter } from "../../vendor/codemirror/codemirror-lang-yaml.js";
import {
  HighlightStyle,
  Language,
  LanguageSupport,
  bracketMatching,
  defineLanguageFacet,
  indentOnInput,
  syntaxHighlighting,
} from "../../vendor/codemirror/codemirror-language.js";
import { lintGutter, lintKeymap, setDiagnostics } from "../../vendor/codemirror/codemirror-lint.js";
import { search, searchKeymap } from "../../vendor/codemirror/codemirror-search.js";
import { Annotation, Compartment, EditorState } from "../../vendor/codemirror/codemirror-state.js";
import { EditorView, keymap, lineNumbers } from "../../vendor/codemirror/codemirror-view.js";
import { tags } from "../../vendor/codemirror/lezer-highlight.js";
import { GFM, parser } from "../../vendor/codemirror/lezer-markdown.js";
import { PHRASES } from "./phrases.js";

const markdown = new LanguageSupport(new Language(defineLanguageFacet(), parser.configure(GFM), [], "markdown"));
/** @type {Readonly<Record<string, () => LanguageSupport>>} */
const LANGUAGES = { json, yaml, markdown: () => yamlFrontmatter({ content: markdown }) };

const colour = (/** @type {string} */ name) => `var(--${name})`;
const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.link, tags.url], color: colour("accent-text") },
  { tag: [tags.string, tags.monospace], color: colour("good") },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: colour("hook") },
  { tag: [tags.comment, tags.quote, tags.meta, tags.processingInstruction], color: colour("ink-faint") },
  { tag: [tags.heading, tags.strong], fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
]);
const panelPart = {
  border: "1px solid var(--line-strong)",
  borderRadius: "0.375rem",
  background: colour("surface"),
  color: "inherit",
};
const THEME = EditorView.theme({
  "&": { height: "100%", color: colour("ink"), fontSize: "inherit" },
  "&.cm-focused": { outline: "none" }, // the frame around it shows the focus
  ".cm-scroller": { fontFamily: colour("mono"), lineHeight: "1.6" },
  ".cm-content": { caretColor: colour("ink") },
  ".cm-gutters": { background: "transparent", border: "0", color: colour("ink-faint") },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { background: colour("accent-soft") },
  ".cm-tooltip, .cm-panels, .cm-diagnostic": { background: colour("surface"), color: colour("ink") },
  ".cm-tooltip": { border: "1px solid var(--line-strong)", borderRadius: "0.375rem", boxShadow: colour("shadow") },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "16rem", fontFamily: colour("mono") },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    display: "flex",
    gap: "0.75rem",
    maxWidth: "min(32rem, 92vw)",
    padding: "0.25rem 0.5rem",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: colour("accent-soft"),
    color: colour("accent-text"),
    outline: "1px solid var(--accent)",
  },
  ".cm-completionMatchedText": { textDecoration: "none" },
  ".cm-completionDetail": {
    overflow: "hidden",
    color: colour("ink-soft"),
    fontStyle: "normal",
    fontFamily: colour("font"),
    textOverflow: "ellipsis",
    whiteSpace: "nowrap",
  },
  ".cm-panels": { borderColor: colour("line") },
  ".cm-textfield": { ...panelPart, fontSize: "inherit" },
  ".cm-button": { ...panelPart, backgroundImage: "none" },
  ".cm-searchMatch": { background: colour("warning-soft"), outline: "1px solid var(--warning)" },
  ".cm-searchMatch-selected, .cm-selectionMatch": { background: colour("accent-soft") },
});

/** Marks what the page sets, which is no input of the user. @type {import("../../vendor/codemirror/codemirror-state.js").AnnotationType<boolean>} */
const isOfPage = Annotation.define();

/** @param {ShadowRoot} root @param {string} text @param {Settings} settings @param {() => void} changed @param {Page} page @returns {Surface} */
export function codeMirror(root, text, settings, changed, page) {
  const changing = new Compartment();
  const escape = { key: "Escape", run: () => (page.leave(), true) };
  const accept = { key: "Tab", run: acceptCompletion };
  const maps = [closeBracketsKeymap, completionKeymap, searchKeymap, defaultKeymap, historyKeymap, lintKeymap];
  const view = new EditorView({
    parent: root,
    doc: text,
    extensions: [
      THEME,
      syntaxHighlighting(COLOURS),
      lineNumbers(),
      lintGutter(),
      history(),
      bracketMatching(),
      closeBrackets(),
      indentOnInput(),
      search({ top: true }),
      EditorView.lineWrapping,
      EditorState.tabSize.of(2),
      EditorState.phrases.of(PHRASES[document.documentElement.lang] ?? {}),
      // A suggestion comes with the letter: there is no delay in which a key could mean something else.
      autocompletion({
        override: [suggestions(page)],
        icons: false,
        activateOnTypingDelay: 0,
        interactionDelay: 0,
        compareCompletions: () => 0,
      }),
      keymap.of([accept, ...maps.flat(), indentWithTab, escape]),
      changing.of(extensionsOf(settings)),
      EditorView.updateListener.of(({ docChanged, transactions }) => {
        if (docChanged && !transactions.some((one) => one.annotation(isOfPage))) changed();
      }),
    ],
  });
  view.dom.addEventListener("input", (event) => event.stopPropagation()); // the browser's own: the text is not read yet
  mark(view, settings);
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(next) {
      const changes = difference(view.state.doc.toString(), next);
      if (changes) view.dispatch({ changes, annotations: isOfPage.of(true) });
    },
    set settings(/** @type {Settings} */ next) {
      view.dispatch({ effects: changing.reconfigure(extensionsOf(next)) });
      mark(view, next);
    },
    focus: () => view.focus(),
    goTo(line) {
      const { from, to } = view.state.doc.line(Math.min(line, view.state.doc.lines));
      view.dispatch({
        selection: { anchor: from, head: to },
        effects: EditorView.scrollIntoView(from, { y: "center" }),
      });
      view.focus();
    },
    close: () => view.destroy(),
  };
}

/** @param {Settings} settings */
function extensionsOf({ label, help, language, isReadOnly, problems }) {
  const isWrong = problems.some(({ severity }) => severity === "error");
  const described = { "aria-label": label, "aria-description": help, "aria-invalid": String(isWrong) };
  return [
    LANGUAGES[language]?.() ?? [],
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({ ...described, tabindex: "0", spellcheck: String(language === "markdown") }),
  ];
}

/** @param {EditorView} view @param {Settings} settings */
function mark(view, { problems }) {
  const { doc } = view.state;
  const diagnostics = problems.map(({ line, severity, message }) => {
    const { from, to, text } = doc.line(Math.min(line, doc.lines));
    return { from: from + text.length - text.trimStart().length, to, severity, message };
  });
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

/** Return the change that makes one text of the other, so that cursor and history stay where nothing has changed. @param {string} before @param {string} after */
function difference(before, after) {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let rest = 0;
  while (rest < shorter - from && before.at(-1 - rest) === after.at(-1 - rest)) rest += 1;
  return { from, to: before.length - rest, insert: after.slice(from, after.length - rest) };
}

/** @param {Page} page */
function suggestions({ complete }) {
  return (/** @type {CompletionContext} */ { state, pos, explicit }) => {
    const found = complete(state.doc.toString(), pos, explicit);
    if (!found) return null;
    const { from, to, items, quotes } = found;
    const options = items.map((item) => ({
      label: item.label,
      detail: item.detail,
      apply: (
        /** @type {EditorView} */ view,
        /** @type {unknown} */ _,
        /** @type {number} */ start,
        /** @type {number} */ end,
      ) => write(view, item, start - quotes[0], end + quotes[1]),
    }));
    return { from, to, options, validFor: /^[\w.$-]*$/ };
  };
}

/** Write a suggestion. CodeMirror adds the closing brackets and quotes, as if the opening ones had been typed. @param {EditorView} view @param {Suggestion} suggestion @param {number} from @param {number} to */
function write(view, { label, insert, value }, from, to) {
  const [, opening = "", rest = ""] = /^([[{]*"?)(\w*)/.exec(value) ?? [];
  const annotations = pickedCompletion.of({ label });
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    annotations,
    userEvent: "input.complete",
  });
  for (const sign of opening) view.dispatch(insertBracket(view.state, sign) ?? view.state.replaceSelection(sign));
  const { head } = view.state.selection.main;
  if (rest)
    view.dispatch({
      changes: { from: head, insert: rest },
      selection: { anchor: /^\d/.test(rest) ? head : head + rest.length, head: head + rest.length },
    });
  if (opening.endsWith('"')) startCompletion(view);
}
