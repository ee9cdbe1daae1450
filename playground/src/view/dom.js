// What is needed of the DOM. Texts get into it as text only.

/**
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) {
    throw new Error(`#${id} is no ${kind.name}`);
  }
  return found;
}

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, any>} [attributes] `class`, `on…` and whatever is an attribute
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  fill(made, attributes, children);
  return made;
}

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {Child[]} children
 * @returns {SVGElement}
 */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  fill(made, attributes, children);
  return /** @type {SVGElement} */ (made);
}

/**
 * @param {Element} made
 * @param {Record<string, any>} attributes
 * @param {Child[]} children
 */
function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    made.append(child instanceof Node ? child : String(child));
  }
}

/**
 * @param {Element} element
 * @param {Child[]} children
 */
export function replace(element, ...children) {
  const all = children.filter((child) => child !== undefined && child !== null && child !== false);
  element.replaceChildren(.../** @type {(Node | string)[]} */ (
    all.map((child) => (child instanceof Node ? child : String(child)))));
}

/**
 * Lets a field take nothing but a time, in the words of scenarios.
 * @param {HTMLInputElement} field
 */
export function wantDuration(field) {
  field.pattern = '[0-9]{1,15}(ms|s|m|h|d)';
  field.title = 'A whole number and ms, s, m, h or d';
}

/**
 * At most once for each frame that is painted.
 * @param {() => void} work
 */
export function oncePerFrame(work) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      work();
    });
  };
}

/**
 * When nothing has come for a while.
 * @template {any[]} A
 * @param {number} ms
 * @param {(...args: A) => void} work
 */
export function whenQuiet(ms, work) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {A} */ ...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), ms);
  };
}

/**
 * Tells people who do not see it.
 * @param {string} text
 */
export function announce(text) {
  byId('announcer', HTMLElement).textContent = text;
}
