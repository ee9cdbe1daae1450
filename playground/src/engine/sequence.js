// A list that stays sorted while it grows and shrinks: tens of thousands of
// items, of which one comes or goes with every operation. It is kept in
// pieces, so that only one of them has to be moved.

/** A piece that grows longer than this is cut in two. */
const LONGEST = 512;

/** @template T */
export class Sequence {
  /** None of them is empty. @type {T[][]} */
  #pieces = [];
  #compare;

  /** @param {(a: T, b: T) => number} compare never 0 for two items of the list */
  constructor(compare) {
    this.#compare = compare;
  }

  /** @param {T} item */
  add(item) {
    const { piece, at } = this.#search((other) => this.#compare(other, item) < 0);
    if (piece < this.#pieces.length) {
      this.#insert(piece, at, item);
    } else if (piece > 0) {
      this.#insert(piece - 1, this.#pieces[piece - 1].length, item);
    } else {
      this.#pieces.push([item]);
    }
  }

  /**
   * @param {number} piece
   * @param {number} at
   * @param {T} item
   */
  #insert(piece, at, item) {
    const items = this.#pieces[piece];
    items.splice(at, 0, item);
    if (items.length > LONGEST) {
      // A list that grows at its end leaves full pieces behind.
      const cut = at === items.length - 1 ? LONGEST : LONGEST / 2;
      this.#pieces.splice(piece + 1, 0, items.splice(cut));
    }
  }

  /** @param {T} item which is in the list */
  delete(item) {
    const { piece, at } = this.#search((other) => this.#compare(other, item) < 0);
    const items = this.#pieces[piece];
    items.splice(at, 1);
    if (items.length === 0) {
      this.#pieces.splice(piece, 1);
    }
  }

  /**
   * The last of the items that come before a place in the list.
   * @param {(item: T) => boolean} isBefore true up to there, and false behind
   * @returns {T | undefined}
   */
  lastBefore(isBefore) {
    const { piece, at } = this.#search(isBefore);
    return at > 0 ? this.#pieces[piece][at - 1] : this.#pieces[piece - 1]?.at(-1);
  }

  /**
   * The first of the items behind a place in the list.
   * @param {(item: T) => boolean} isBefore true up to there, and false behind
   * @returns {T | undefined}
   */
  firstBehind(isBefore) {
    const { piece, at } = this.#search(isBefore);
    return this.#pieces[piece]?.[at];
  }

  /** @returns {T | undefined} */
  last() {
    return this.#pieces.at(-1)?.at(-1);
  }

  /**
   * All behind a place in the list. It must not be changed meanwhile.
   * @param {(item: T) => boolean} isBefore true up to there, and false behind
   * @returns {Generator<T, void, void>}
   */
  *behind(isBefore) {
    let { piece, at } = this.#search(isBefore);
    for (; piece < this.#pieces.length; piece++, at = 0) {
      for (const items = this.#pieces[piece]; at < items.length; at++) {
        yield items[at];
      }
    }
  }

  /**
   * At most `count` of them, without the first `skip`.
   * @param {number} skip
   * @param {number} count
   * @returns {T[]}
   */
  page(skip, count) {
    /** @type {T[]} */
    const page = [];
    let rest = skip;
    for (const items of this.#pieces) {
      if (page.length === count) {
        break;
      }
      if (rest < items.length) {
        page.push(...items.slice(rest, rest + count - page.length));
      }
      rest = Math.max(0, rest - items.length);
    }
    return page;
  }

  /**
   * Where the first item is that does not come before: a piece, perhaps the
   * one behind the last, and a place in it.
   * @param {(item: T) => boolean} isBefore
   */
  #search(isBefore) {
    const pieces = this.#pieces;
    const piece = partition(pieces.length, (n) => isBefore(pieces[n][pieces[n].length - 1]));
    const items = pieces[piece];
    const at = items === undefined ? 0 : partition(items.length, (n) => isBefore(items[n]));
    return { piece, at };
  }
}

/**
 * The first number for which it is not so.
 * @param {number} count
 * @param {(n: number) => boolean} isSo true up to some number, and false behind
 */
function partition(count, isSo) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isSo(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
