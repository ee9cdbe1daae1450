// What an operation changes, as entries of the state that the page shows.

/**
 * What is remembered of an address.
 * @typedef {{key: string | null, held: boolean, when: number, order: number, given: number}} Event
 */

/**
 * The value of an entry:
 *
 *     f:<directory>/<file name>    string, the text of a file
 *     h:<directory>/<address>      Event
 *     r:<directory>                true, where releases are remembered
 *     s:<directory>                string, what a policy remembers
 *     b:                           number, when the node booted last
 *
 * @typedef {string | number | boolean | Event} Value
 */

/**
 * An entry before and after an operation; `undefined` where there is none.
 * @typedef {{key: string, before?: Value, after?: Value}} Change
 */

/** The changes since they were last taken. */
export class Changes {
  /** @type {Map<string, Change>} */
  #changes = new Map();

  /**
   * @param {string} key
   * @param {Value | undefined} before
   * @param {Value | undefined} after
   */
  note(key, before, after) {
    const known = this.#changes.get(key);
    if (known === undefined) {
      this.#changes.set(key, { key, before, after });
    } else {
      known.after = after;
    }
  }

  /**
   * What has changed in the end, in the order in which it first did.
   * @returns {Change[]}
   */
  take() {
    const changes = [...this.#changes.values()].filter(({ before, after }) => !isSame(before, after));
    this.#changes.clear();
    return changes;
  }
}

/**
 * Of what is remembered, no two have the same order.
 * @param {Value | undefined} a
 * @param {Value | undefined} b
 */
function isSame(a, b) {
  return typeof a === 'object' && typeof b === 'object' ? a.order === b.order : a === b;
}
