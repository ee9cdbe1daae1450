// Sets of addresses. Those of a pool come in rows, so a set is kept as runs of
// addresses that follow each other: the first gap after an address is found at
// once, however full the pool is.

import { next, previous } from './address.js';
import { Sequence } from './sequence.js';

/** @typedef {import('./address.js').Key} Key */

/**
 * Addresses from `first` to `last`, both inclusive.
 * @typedef {{first: Key, last: Key}} Run
 */

export class AddressSet {
  // Numbers and bigints can be compared, but mean addresses of two families.
  #ipv4 = new Runs();
  #ipv6 = new Runs();

  /** @param {Key} address */
  #family(address) {
    return typeof address === 'number' ? this.#ipv4 : this.#ipv6;
  }

  /** @param {Key} address */
  has(address) {
    return this.#family(address).around(address) !== undefined;
  }

  /**
   * Puts an address in, or takes it out.
   * @param {Key} address
   * @param {boolean} isIn
   */
  put(address, isIn) {
    const runs = this.#family(address);
    if (isIn) {
      runs.add(address);
    } else {
      runs.delete(address);
    }
  }

  /**
   * The lowest address from `first` to `last`, both inclusive, that is not in
   * the set.
   * @param {Key} first
   * @param {Key} last
   * @returns {Key | undefined}
   */
  gap(first, last) {
    const run = this.#family(first).around(first);
    const gap = run === undefined ? first : next(run.last);
    return gap <= last ? gap : undefined;
  }

  /**
   * The addresses behind `after`, or all of them, in their order.
   * @param {Key | undefined} after
   * @returns {Generator<Key, void, void>}
   */
  *behind(after) {
    if (typeof after !== 'bigint') {
      yield* this.#ipv4.behind(after);
    }
    yield* this.#ipv6.behind(typeof after === 'bigint' ? after : undefined);
  }
}

/** Of one family. No two runs touch each other. */
class Runs {
  /** @type {Sequence<Run>} */
  #runs = new Sequence((a, b) => (a.first < b.first ? -1 : Number(a.first > b.first)));

  /**
   * The last run that begins at the address or before.
   * @param {Key} address
   */
  #before(address) {
    return this.#runs.lastBefore((run) => run.first <= address);
  }

  /**
   * The run that an address is in.
   * @param {Key} address
   */
  around(address) {
    const run = this.#before(address);
    return run !== undefined && address <= run.last ? run : undefined;
  }

  /** @param {Key} address */
  add(address) {
    const before = this.#before(address);
    if (before !== undefined && address <= before.last) {
      return;
    }
    const behind = this.#runs.firstBehind((run) => run.first <= address);
    const following = behind?.first === next(address) ? behind : undefined;
    if (before !== undefined && next(before.last) === address) {
      if (following !== undefined) {
        this.#runs.delete(following);
      }
      before.last = following?.last ?? address;
    } else if (following !== undefined) {
      following.first = address;
    } else {
      this.#runs.add({ first: address, last: address });
    }
  }

  /** @param {Key} address */
  delete(address) {
    const run = this.around(address);
    if (run === undefined) {
      return;
    }
    const { first, last } = run;
    if (first === last) {
      this.#runs.delete(run);
    } else if (address === first) {
      run.first = next(address);
    } else {
      run.last = previous(address);
      if (address !== last) {
        this.#runs.add({ first: next(address), last });
      }
    }
  }

  /**
   * @param {Key | undefined} after
   * @returns {Generator<Key, void, void>}
   */
  *behind(after) {
    const runs = this.#runs.behind((run) => after !== undefined && run.last <= after);
    for (const { first, last } of runs) {
      let address = after !== undefined && first <= after ? next(after) : first;
      for (; address <= last; address = next(address)) {
        yield address;
      }
    }
  }
}
