/**
 * The model of the whole server: which one answers, which others there are, and picking one. For operators alone.
 *
 * @typedef {import("./state.js").State} State
 *
 * @typedef {{base_url: string, api_key?: string}} EndpointAddress
 * @typedef {{kind: "embedded"} | {kind: "file", name: string}
 *   | {kind: "endpoint", base_url: string, model: string, api_key?: string}} ModelChoice
 *
 * @typedef {object} ModelOption A model that can be picked.
 * @property {string} key
 * @property {ModelChoice} choice
 * @property {string} name
 * @property {string} server the program or address behind which it is; empty if our server runs it
 * @property {boolean} isHere on the server's machine
 * @property {boolean} isCurrent
 * @property {number | null} firstTokenMs as its last test has shown; null if it was not tested
 * @property {boolean | null} callsTools
 *
 * @typedef {object} Models
 * @property {boolean} isOpen the picker is shown
 * @property {readonly ModelOption[] | null} options null until they are known
 * @property {string | null} decidedBy the setting that decides the model, so that none can be picked
 * @property {string} silence why the current model cannot answer now, or empty
 * @property {string} testing the name of the model that is being tested, or empty
 * @property {readonly string[] | null} listed the models at the address in the form; null if it was not asked
 * @property {string} problem
 * @property {boolean} isOfForm what is tested, listed or wrong is what the form for another endpoint holds
 * @property {number} picks how many there were: each has a new form, so that no key stays in the old one
 */

import { sessionHeaders } from "./storage.js";
import { withAnnouncements, withEffects } from "./state.js";
import { namesSettings, t } from "./strings.js";

const PATH = "/api/model";

/** @typedef {{status: number, body: any}} Answer status 0 if there was none */

/** @param {ModelChoice} [choice] to pick; without it, ask which there are @returns {Promise<Answer>} */
export function askModels(choice) {
  return ask(PATH, "PUT", choice);
}

/** @param {EndpointAddress} address @returns {Promise<Answer>} the names of its models */
export function askNames(address) {
  return ask(`${PATH}/names`, "POST", address);
}

/** @param {string} path @param {"PUT" | "POST"} method @param {object} [body] @returns {Promise<Answer>} */
async function ask(path, method, body) {
  const sent = body && { method, body: JSON.stringify(body) };
  const headers = { ...sessionHeaders(), ...(body && { "Content-Type": "application/json" }) };
  const answer = await fetch(path, { cache: "no-store", headers, ...sent }).catch(() => null);
  return { status: answer?.status ?? 0, body: await answer?.json().catch(() => null) };
}

/** Return whether another model may be needed, and whether the user may pick it. @param {State} state */
export function picksOf({ server }) {
  return { isLimited: Boolean(server?.model.languages?.length), canPick: server?.user?.is_operator === true };
}

/** Ask the server, if it would answer us. @param {State} state @returns {State} */
export function withModels(state) {
  return state.server?.user?.is_operator ? withEffects(state, { type: "load_models" }) : state;
}

/** @param {State} state @param {boolean} isOpen @returns {State} */
export function opened(state, isOpen) {
  if (isOpen === state.models.isOpen) return state;
  const next = { ...state, models: { ...state.models, isOpen, listed: null, problem: "", isOfForm: false } };
  return isOpen ? withModels(next) : next;
}

/** @param {State} state @param {number} status @param {any} body @returns {State} */
export function loaded(state, status, body) {
  const { models } = state;
  if (status === 200) return { ...state, models: { ...models, ...known(body) } };
  return models.isOpen ? { ...state, models: { ...models, problem: problemOf(status, body) } } : state;
}

/** @param {State} state @param {ModelChoice} choice @param {boolean} [isOfForm] @returns {State} */
export function picking(state, choice, isOfForm = false) {
  const { models } = state;
  if (models.testing) return state;
  const testing = nameOf(choice);
  const next = { ...state, models: { ...models, isOpen: true, testing, listed: null, problem: "", isOfForm } };
  return withEffects(next, { type: "pick_model", choice });
}

/** @param {State} state @param {string} key of an option @returns {State} */
export function pickingOption(state, key) {
  const option = state.models.options?.find((option) => option.key === key);
  return option ? picking(state, option.choice) : state;
}

/** Close the picker once the model answers; its name at the top of the page is another now. @param {State} state @param {number} status @param {any} body @returns {State} */
export function picked(state, status, body) {
  const models = { ...state.models, testing: "" };
  if (status !== 200) return { ...state, models: { ...models, problem: problemOf(status, body) } };
  const next = { ...state, models: { ...models, ...known(body), isOpen: false, picks: models.picks + 1 } };
  return withAnnouncements(next, [t.models.picked(state.models.testing)]);
}

/** Ask an endpoint which models it has. @param {State} state @param {EndpointAddress} address @returns {State} */
export function listing(state, address) {
  const next = { ...state, models: { ...state.models, listed: null, problem: "", isOfForm: true } };
  return withEffects(next, { type: "list_models", address });
}

/** @param {State} state @param {number} status @param {any} body @returns {State} */
export function listed(state, status, body) {
  const names = status === 200 && Array.isArray(body?.names) ? body.names.map(String) : null;
  const problem = names ? "" : problemOf(status, body);
  return { ...state, models: { ...state.models, listed: names, problem } };
}

/** The first model that was found, while the embedded one answers. @param {Models} models */
export function offerOf(models) {
  return (isDemo(models) && models.options?.find(({ choice }) => choice.kind === "endpoint")) || null;
}

/** Whether the embedded model answers. @param {Models} models */
export function isDemo({ options }) {
  return options?.some(({ choice, isCurrent }) => isCurrent && choice.kind === "embedded") ?? false;
}

/** @param {any} body */
function known(body) {
  const options = Array.isArray(body?.options) ? body.options : [];
  return {
    options: options.filter(Boolean).map(asOption),
    decidedBy: body?.decided_by ? String(body.decided_by) : null,
    silence: String(body?.problem ?? ""),
  };
}

/** @param {any} option @returns {ModelOption} */
function asOption({ kind, name, server, base_url, is_on_this_machine, is_current, measured }) {
  /** @type {ModelChoice} */
  const choice =
    kind === "endpoint"
      ? { kind, base_url: String(base_url), model: String(name) }
      : kind === "file"
        ? { kind, name: String(name) }
        : { kind: "embedded" };
  return {
    key: JSON.stringify(choice),
    choice,
    name: String(name),
    server: server ? String(server) : "",
    isHere: is_on_this_machine === true,
    isCurrent: is_current === true,
    firstTokenMs: measured ? Number(measured.first_token_ms) : null,
    callsTools: measured?.calls_tools ?? null,
  };
}

/** @param {ModelChoice} choice */
function nameOf(choice) {
  return choice.kind === "endpoint" ? choice.model : choice.kind === "file" ? choice.name : t.models.embedded;
}

/** Return what the user can do, with the server's text behind it unless that names settings, which no field of the form is. @param {number} status @param {any} body */
function problemOf(status, body) {
  if (status === 0) return t.models.noAnswer;
  const { code = "", message = t.models.failed(status) } = body?.error ?? {};
  const cure = t.models.cures[code];
  return cure && namesSettings(message) ? cure : [cure, message].filter(Boolean).join(" ");
}
