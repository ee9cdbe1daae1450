// The node, as far as the store needs one: directories, and when it booted
// last. All of it can be taken down as entries, and changes can be applied to
// it and taken back.

import { parseKey } from './address.js';
import { Changes } from './changes.js';
import { Directory } from './directory.js';

/**
 * @typedef {import('./changes.js').Change} Change
 * @typedef {import('./changes.js').Event} Event
 * @typedef {import('./changes.js').Value} Value
 */

export class Disk {
  #changes = new Changes();
  #root = new Directory('', this.#changes);
  /** @type {number | undefined} */
  #boot = undefined;
  /** The order of what was remembered last, as far as it still matters. */
  #order = 0;
  /** The same with what the operation remembers that goes on. */
  #nextOrder = 0;

  get root() {
    return this.#root;
  }

  /** When the node booted last, in milliseconds since 1970. */
  get boot() {
    return this.#boot;
  }

  /** @param {number} now */
  reboot(now) {
    this.#changes.note('b:', this.#boot, now);
    this.#boot = now;
  }

  /** The order of what is remembered next. */
  order() {
    this.#nextOrder += 1;
    return this.#nextOrder;
  }

  /**
   * The directory of a path, made if it is missing.
   * @param {string} path
   */
  make(path) {
    let directory = this.#root;
    for (const name of pathNames(path)) {
      const entry = directory.get(name);
      directory = entry instanceof Directory ? entry : directory.make(name);
    }
    return directory;
  }

  /**
   * What an operation has changed.
   *
   * Orders that count no more are given again, so that they do not depend on
   * whether the operation was carried out or its changes applied.
   */
  takeChanges() {
    const changes = this.#changes.take();
    this.#settle(changes.map(({ after }) => after));
    return changes;
  }

  /** Takes back what has changed since changes were last taken. */
  revert() {
    this.#apply(this.#changes.take().reverse(), 'before');
  }

  /**
   * Does what an operation did.
   * @param {Change[]} changes
   */
  redo(changes) {
    this.#apply(changes, 'after');
    this.#settle(changes.map(({ after }) => after));
  }

  /**
   * Takes back what an operation did.
   * @param {Change[]} changes
   */
  undo(changes) {
    this.#apply([...changes].reverse(), 'before');
  }

  /**
   * All there is.
   * @returns {[string, Value][]}
   */
  values() {
    const values = [...this.#root.values()];
    return this.#boot === undefined ? values : [...values, ['b:', this.#boot]];
  }

  /** @param {(Value | undefined)[]} values that count from now on */
  #settle(values) {
    for (const value of values) {
      if (typeof value === 'object' && value !== null) {
        this.#order = Math.max(this.#order, value.order);
      }
    }
    this.#nextOrder = this.#order;
  }

  /**
   * @param {Change[]} changes
   * @param {'before' | 'after'} side
   */
  #apply(changes, side) {
    for (const change of changes) {
      this.#put(change.key, change[side] ?? undefined);
    }
    this.#changes.take();
    this.#nextOrder = this.#order;
  }

  /**
   * @param {string} key
   * @param {Value | undefined} value
   */
  #put(key, value) {
    const path = key.slice(2);
    const end = path.lastIndexOf('/');
    switch (key.slice(0, 2)) {
      case 'b:':
        this.#boot = /** @type {number | undefined} */ (value);
        break;
      case 'f:':
        this.#change(path.slice(0, end), (directory) => {
          putFile(directory, path.slice(end + 1), /** @type {string | undefined} */ (value));
        });
        break;
      case 'h:':
        this.#change(path.slice(0, end), (directory) => {
          putEvent(directory, path.slice(end + 1), /** @type {Event | undefined} */ (value));
        });
        break;
      case 'r:':
        this.#change(path, (directory) => directory.setRemembers(value === true));
        break;
      case 's:':
        this.#change(path, (directory) => {
          directory.setState(/** @type {string | undefined} */ (value) ?? '');
        });
        break;
      default:
        throw new Error(`an entry of an unknown kind: ${key}`);
    }
  }

  /**
   * Changes a directory, which is there for as long as anything is in it.
   * @param {string} path
   * @param {(directory: Directory) => void} change
   */
  #change(path, change) {
    change(this.make(path));
    const names = pathNames(path);
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      const parent = this.make(names.join('/'));
      const entry = parent.get(name);
      if (!(entry instanceof Directory) || !entry.isEmpty) {
        break;
      }
      parent.delete(name);
    }
  }
}

/**
 * @param {Directory} directory
 * @param {string} name
 * @param {string | undefined} text
 */
function putFile(directory, name, text) {
  if (text === undefined) {
    directory.delete(name);
  } else {
    directory.set(name, text);
  }
}

/**
 * @param {Directory} directory
 * @param {string} name
 * @param {Event | undefined} event
 */
function putEvent(directory, name, event) {
  const address = parseKey(name);
  if (address === undefined) {
    throw new Error(`something remembered of what is no address: ${name}`);
  }
  directory.remember(address, event && { address, ...event });
}

/**
 * The names in a path, cleaned as Go's `filepath.Join` does.
 * @param {string} path
 */
export function pathNames(path) {
  /** @type {string[]} */
  const names = [];
  for (const name of path.split('/')) {
    if (name === '..') {
      names.pop();
    } else if (name !== '' && name !== '.') {
      names.push(name);
    }
  }
  return names;
}
