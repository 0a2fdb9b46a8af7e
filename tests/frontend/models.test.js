import assert from "node:assert/strict";
import { test } from "node:test";

import { conversationView } from "../../frontend/js/render/conversation_view.js";
import { headerView } from "../../frontend/js/render/header_view.js";
import { h } from "../../frontend/js/render/dom.js";
import { modelsView, offerView } from "../../frontend/js/render/models_view.js";
import { elements, ofType, Page, READY, textsOf, turn, withAttribute } from "./support.js";

const OPERATOR = { ...READY, user: { name: "local", is_operator: true, is_logged_in: false } };
const EMBEDDED = { kind: "embedded", name: "SmolLM2", server: null, is_on_this_machine: true, is_current: true };
const FOUND = {
  kind: "endpoint",
  name: "qwen3:8b",
  server: "Ollama",
  base_url: "http://127.0.0.1:11434/v1",
  is_on_this_machine: true,
  is_current: false,
  measured: { first_token_ms: 312.4, calls_tools: true },
};
const CHOICE = { kind: "endpoint", base_url: FOUND.base_url, model: "qwen3:8b" };

const answer = (options, decided_by = null) => ({ status: 200, body: { options, decided_by } });
const loaded = (...options) => new Page().receive(OPERATOR).dispatch({ type: "models_loaded", ...answer(options) });
const opened = (page) => page.dispatch({ type: "models", isOpen: true });

const textOf = (described) => textsOf(described).join("|");
const shown = (page) => textOf(modelsView(page.state));
const opener = (page) => withAttribute(headerView(page.state), "data-action", "models")[0];

test("operators alone have the picker, and their page asks which models there are", () => {
  const page = new Page().receive(READY);
  assert.equal(opener(page), undefined);
  assert.deepEqual(ofType(page.effects, "load_models"), []);

  page.receive(OPERATOR);

  assert.equal(opener(page).attributes["aria-haspopup"], "dialog");
  assert.equal(ofType(page.effects, "load_models").length, 1);
  page.receive({ type: "model", name: "other", host: "h", location: "local" });
  assert.equal(ofType(page.effects, "load_models").length, 2, "another operator has picked");
});

test("a found model is offered while the embedded one answers, and no longer", () => {
  assert.equal(offerView(new Page().receive(OPERATOR).state.models), null);
  assert.match(
    textOf(offerView(loaded(EMBEDDED, FOUND).state.models)),
    /qwen3:8b is available: Ollama on this machine/,
  );
  const other = { ...EMBEDDED, is_current: false };
  assert.equal(offerView(loaded(other, { ...FOUND, is_current: true }).state.models), null);
  assert.equal(offerView(loaded(EMBEDDED).state.models), null);
});

test("each model stands with its place and what its test has shown", () => {
  const text = shown(
    opened(
      loaded(EMBEDDED, FOUND, { kind: "file", name: "q.gguf", measured: { first_token_ms: 2000, calls_tools: null } }),
    ),
  );

  assert.match(text, /SmolLM2\|Answers now\|Included, on this machine/);
  assert.match(text, /qwen3:8b\|Ollama on this machine · first word after 0\.3 s · calls tools/);
  assert.match(text, /q\.gguf\|A file on this machine · first word after 2\.0 s\|/);
});

test("an error is said in the page's words before the server's, and in them alone where the server names settings", () => {
  const page = opened(loaded(EMBEDDED));
  const failed = (message) => {
    page.dispatch({ type: "model_picked", status: 422, body: { error: { code: "provider_unreachable", message } } });
    return page.state.models.problem;
  };
  const ours = "This address does not answer. Check that the model server runs and that the address is right.";

  assert.equal(failed("no answer from h"), `${ours} no answer from h`);
  assert.equal(failed("no answer from h: is llm.base_url right?"), ours);
  const invalid = { code: "model_invalid", message: "Expected `str` matching regex '^[!-~]*$' - at `$.api_key`" };
  page.dispatch({ type: "model_picked", status: 422, body: { error: invalid } });
  assert.match(page.state.models.problem, /^Check the fields: .* a key has no foreign letters\.$/);
});

test("a current model that cannot answer is not said to answer", () => {
  const page = loaded(EMBEDDED);
  const body = {
    options: [
      { ...EMBEDDED, is_current: false },
      { ...FOUND, is_current: true },
    ],
    problem: "no answer from 127.0.0.1:11434: is it running?",
  };
  const text = shown(opened(page.dispatch({ type: "models_loaded", status: 200, body })));

  assert.match(text, /qwen3:8b\|Does not answer\|.*\|no answer from 127\.0\.0\.1:11434/);
  assert.doesNotMatch(text, /Answers now/);
});

test("where the model does not know the page's language, that is said, and another one is offered", () => {
  const page = (languages, ...options) => {
    const model = { ...READY.model, languages };
    const page = new Page().receive({ ...OPERATOR, model });
    return textOf(conversationView(page.dispatch({ type: "models_loaded", ...answer(options) }).state));
  };

  assert.match(
    page(["fr"], EMBEDDED),
    /This model knows only French\. The examples are in English\.\|Use another model/,
  );
  assert.match(page(["fr"], EMBEDDED, FOUND), /knows only French.*\|qwen3:8b is available.*\|Use it/);
  assert.doesNotMatch(page(["fr"], EMBEDDED, FOUND), /Use another model/);
  assert.doesNotMatch(page(["en"], EMBEDDED), /knows only/);
  assert.doesNotMatch(page([], EMBEDDED), /knows only/);
});

test("a pick is sent once and said, and the picker closes once the model answers", () => {
  const page = loaded(EMBEDDED, FOUND);
  const { key } = page.state.models.options[1];

  page.dispatch({ type: "pick_model", key }).dispatch({ type: "pick_model", key });

  assert.deepEqual(ofType(page.effects, "pick_model"), [{ type: "pick_model", choice: CHOICE }]);
  assert.match(shown(page), /Testing qwen3:8b…/);
  const now = [
    { ...EMBEDDED, is_current: false },
    { ...FOUND, is_current: true },
  ];
  page.dispatch({ type: "model_picked", ...answer(now) });
  assert.equal(page.state.models.isOpen, false);
  assert.match(page.state.announcements.at(-1).text, /qwen3:8b answers from now on\./);
  assert.equal(page.state.models.options[1].isCurrent, true);
});

test("a model that fails its test is said, and another can be picked", () => {
  const page = opened(loaded(EMBEDDED)).dispatch({ type: "pick_endpoint", choice: { ...CHOICE, api_key: "sk" } });
  const form = page.state.models.picks;

  page.dispatch({ type: "model_picked", status: 422, body: { error: { message: "the key was refused" } } });

  assert.match(shown(page), /the key was refused/);
  assert.equal(page.state.models.picks, form, "what was filled in stays");
  page.dispatch({ type: "pick_endpoint", choice: CHOICE });
  assert.doesNotMatch(shown(page), /the key was refused/);
  page.dispatch({ type: "model_picked", status: 0, body: null });
  assert.match(shown(page), /does not answer/);
  assert.equal(page.state.models.isOpen, true);
});

test("an error that names settings of the server is said in words of the form", () => {
  const page = opened(loaded(EMBEDDED)).dispatch({ type: "pick_endpoint", choice: CHOICE });
  const message = "h:1 refused a call without a key (HTTP 401): check llm.api_key or OPENAI_API_KEY";

  page.dispatch({ type: "model_picked", status: 422, body: { error: { code: "provider_auth", message } } });

  assert.match(shown(page), /Check the key\./);
  assert.doesNotMatch(shown(page), /llm\.|OPENAI_/);
});

test("the models of an endpoint can be listed before one is picked", () => {
  const page = opened(loaded(EMBEDDED));
  const address = { base_url: CHOICE.base_url, api_key: "sk" };
  const namesOffered = () => elements(modelsView(page.state)).filter(({ tag }) => tag === "option");

  page.dispatch({ type: "list_endpoint", address });
  assert.deepEqual(ofType(page.effects, "list_models"), [{ type: "list_models", address }]);
  page.dispatch({ type: "endpoint_listed", status: 200, body: { names: ["big", "bigger"] } });
  assert.deepEqual(
    namesOffered().map(({ attributes }) => attributes.value),
    ["big", "bigger"],
  );
  assert.match(shown(page), /2 models, to choose in the field “Model”: big, bigger/);

  page.dispatch({ type: "endpoint_listed", status: 422, body: { error: { message: "no answer from h" } } });
  assert.deepEqual(namesOffered(), []);
  assert.match(shown(page), /no answer from h/);
});

test("a setting that decides is named, and nothing can be picked", () => {
  const page = opened(new Page().receive(OPERATOR));
  page.dispatch({ type: "models_loaded", ...answer([], "OPENAI_BASE_URL") });

  assert.match(shown(page), /because OPENAI_BASE_URL is set/);
  assert.ok(!elements(modelsView(page.state)).some(({ tag }) => tag === "form"));
});

test("a question about a tool closes the picker, which would keep the user from it", () => {
  const page = opened(loaded(EMBEDDED));

  page.receive({
    type: "approval_request",
    id: "a",
    tool: "delete",
    arguments: {},
    message: "?",
    timeout_ms: 1000,
    remember_for: [],
  });

  assert.equal(page.state.models.isOpen, false);
  assert.equal(page.state.approvals.length, 1);
});

test("a closed picker holds nothing, and an answer of another shape breaks nothing", () => {
  assert.equal(shown(loaded(EMBEDDED)), "");
  for (const body of [null, 3, {}, { options: 3 }, { options: [null, 3, {}] }])
    shown(opened(new Page().receive(OPERATOR)).dispatch({ type: "models_loaded", status: 200, body }));
});

test("after its first reply the embedded model is said to be a demo, once, to those who can pick another", () => {
  const demo = /This is the small demo model\.\|Use a real one/;
  const page = loaded(EMBEDDED).ask("Hello", "t1");
  const { start, sentence, sentenceEnd, end } = turn("t1");
  page.receive(start(), sentence(0, "Hi."), sentenceEnd(0));
  assert.doesNotMatch(textOf(conversationView(page.state)), demo, "it is still being written");

  page.receive(end());
  assert.match(textOf(conversationView(page.state)), demo);
  assert.doesNotMatch(textOf(conversationView({ ...page.state, models: loaded(FOUND).state.models })), demo);

  page.ask("And now?", "t2").receive(turn("t2").start(), turn("t2").end());
  assert.doesNotMatch(textOf(conversationView(page.state)), demo);
});
