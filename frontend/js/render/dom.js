/**
 * Descriptions of elements, and the one function that makes the document match
 * them. Text is only ever set as text: there is no way to write HTML here.
 *
 * A description may be used again: one that is the same object as the last time
 * is skipped whole, so what did not change costs nothing.
 *
 * @typedef {string | number | boolean | null | undefined} AttributeValue
 * @typedef {{tag: string, attributes: Record<string, AttributeValue>, children: Described[], key: string | null}} Described
 *   tag "#text": its text is the attribute `text`
 * @typedef {Described | string | number | null | undefined | false | readonly Child[]} Child
 */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "selected"]); // the user changes these; the attribute is only their start

/**
 * @param {string} tag
 * @param {Record<string, AttributeValue>} [attributes] `key` tells neighbours apart when their order changes
 * @param {...Child} children
 * @returns {Described}
 */
export function h(tag, attributes = {}, ...children) {
  const { key, ...rest } = attributes;
  return { tag, attributes: rest, children: asDescribed(children), key: key == null ? null : String(key) };
}

/** @param {Child} child @returns {Described[]} */
function asDescribed(child) {
  if (child === null || child === undefined || child === false || child === "") return [];
  if (Array.isArray(child)) return child.flatMap(asDescribed);
  if (typeof child === "object") return [/** @type {Described} */ (child)];
  return [{ tag: "#text", attributes: { text: String(child) }, children: [], key: null }];
}

/**
 * Return a view that describes an object only once: for parts that are drawn from one immutable value.
 *
 * @template {object} T
 * @param {(value: T) => Described} describe
 * @returns {(value: T) => Described}
 */
export function memo(describe) {
  /** @type {WeakMap<T, Described>} */
  const known = new WeakMap();
  return (value) => {
    const found = known.get(value) ?? describe(value);
    known.set(value, found);
    return found;
  };
}

/**
 * Return such a view for parts that are drawn from several values: described anew when one of them is another than the
 * last time that this `subject` was drawn.
 *
 * @template {object} T
 * @param {(values: T) => Described} describe
 * @param {(values: T) => object} subject
 * @returns {(values: T) => Described}
 */
export function memoAll(describe, subject) {
  /** @type {WeakMap<object, {values: T, described: Described}>} */
  const known = new WeakMap();
  return (values) => {
    const last = known.get(subject(values));
    if (last && isSame(last.values, values)) return last.described;
    const described = describe(values);
    known.set(subject(values), { values, described });
    return described;
  };
}

/** @template {object} T @param {T} a @param {T} b */
function isSame(a, b) {
  const names = /** @type {(keyof T)[]} */ (Object.keys(b));
  return names.every((name) => a[name] === b[name]);
}

/** @type {WeakMap<Node, Described>} what each node of ours was last made to match */
const shown = new WeakMap();

/** @type {WeakMap<Element, Described[]>} */
const drawn = new WeakMap();

/** Make the children of `root` match. @param {Element} root @param {Child} children */
export function draw(root, children) {
  const wanted = asDescribed(children);
  patchChildren(root, drawn.get(root) ?? [], wanted);
  drawn.set(root, wanted);
}

/** @param {Element} parent @param {Described[]} before @param {Described[]} wanted */
function patchChildren(parent, before, wanted) {
  const same = unchanged(parent, before, wanted);
  const nodes = Array.from({ length: parent.childNodes.length - same }, (_, index) => parent.childNodes[same + index]);
  const oldName = namer();
  const old = new Map(nodes.map((node) => [oldName(node && shown.get(node)), node]));
  const rest = wanted.slice(same);
  const names = rest.map(namer());
  const isWanted = new Set(names);
  // First: what stays would be moved over what goes, and an element that is moved loses the focus.
  for (const [name, node] of old) if (!isWanted.has(name)) node?.remove();
  let place = parent.childNodes[same] ?? null;
  rest.forEach((description, index) => {
    const node = patch(old.get(/** @type {string} */ (names[index])), description, parent);
    if (node === place) place = node.nextSibling;
    else parent.insertBefore(node, place);
  });
}

/**
 * Return how many children from the first on are as they were: of a long list mostly all but the last.
 *
 * @param {Element} parent @param {Described[]} before @param {Described[]} wanted
 */
function unchanged(parent, before, wanted) {
  let count = 0;
  while (count < wanted.length && before[count] === wanted[count]) count += 1;
  const last = count > 0 ? parent.childNodes[count - 1] : undefined;
  return last && shown.get(last) === wanted[count - 1] ? count : 0; // code that is not ours may have changed it
}

/**
 * Return what a child is recognised by among its neighbours: its key, else its tag and how many of that tag stand before it.
 */
function namer() {
  /** @type {Map<string, number>} */
  const counts = new Map();
  return (/** @type {Described | undefined} */ description) => {
    const tag = description?.tag ?? "foreign";
    if (description?.key != null) return `${tag}:${description.key}`;
    const count = counts.get(tag) ?? 0;
    counts.set(tag, count + 1);
    return `${tag}#${count}`;
  };
}

/** @param {Node | undefined} node @param {Described} description @param {Element} parent @returns {Node} */
function patch(node, description, parent) {
  const before = node && shown.get(node);
  if (node && before === description) return node;
  const current = node && before ? node : create(description, parent);
  if (description.tag === "#text") {
    const text = String(description.attributes.text);
    if (current.nodeValue !== text) current.nodeValue = text;
  } else {
    const element = /** @type {Element} */ (current);
    patchAttributes(element, before?.attributes ?? {}, description.attributes);
    patchChildren(element, before?.children ?? [], description.children);
  }
  shown.set(current, description);
  return current;
}

/** @param {Described} description @param {Element} parent @returns {Node} */
function create({ tag }, parent) {
  if (tag === "#text") return document.createTextNode("");
  const isSvg = tag === "svg" || parent.namespaceURI === SVG;
  return isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
}

/**
 * @param {Element} element
 * @param {Record<string, AttributeValue>} before
 * @param {Record<string, AttributeValue>} after
 */
function patchAttributes(element, before, after) {
  for (const name of Object.keys({ ...before, ...after })) {
    const value = after[name];
    if (PROPERTIES.has(name)) setProperty(element, name, value);
    else if (value === before[name]) continue;
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * A text is never changed under the user's hands; an editor in a shadow root keeps cursor and history itself.
 *
 * @param {Element} element
 * @param {string} name
 * @param {AttributeValue} value
 */
function setProperty(element, name, value) {
  const input = /** @type {any} */ (element);
  const isInUse = name === "value" && element === document.activeElement && !element.shadowRoot;
  if (input[name] !== value && !isInUse) input[name] = value;
}

/** Offer a file for saving. @param {string} name @param {string} mediaType @param {BlobPart} content */
export function download(name, mediaType, content) {
  const url = URL.createObjectURL(new Blob([content], { type: mediaType }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
