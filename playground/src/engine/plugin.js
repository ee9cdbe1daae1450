// The plugin: one instance of the component, and what it is told of the
// outside. The component has no state between invocations, so the instance
// serves all of them.

import { StorageError } from './ledger.js';
import { storage } from './store.js';

/**
 * @typedef {import('./disk.js').Disk} Disk
 * @typedef {import('./policies.js').Policies} Policies
 * @typedef {import('./transpile.js').Module} Module
 */

/**
 * A component that was transpiled ahead of time, with its core modules.
 * @typedef {object} Component
 * @property {Module['instantiate']} instantiate
 * @property {(name: string) => WebAssembly.Module} getCoreModule
 */

/**
 * What an invocation is told, and what it tells.
 * @typedef {{timeMs: bigint, seed: bigint, warnings: string[], notes: string[]}} Surroundings
 */

/**
 * What came of an invocation; a status of -1 where the component trapped.
 * @typedef {{status: number, answer: string}} Outcome
 */

/** CNI error code of a component that trapped, as the native host has it. */
const TRAPPED = 100;

const encoder = new TextEncoder();

export class Plugin {
  #component;
  #imports;
  /** @type {any} */
  #cni = undefined;
  /** @type {Surroundings} */
  #surroundings = { timeMs: 0n, seed: 0n, warnings: [], notes: [] };

  /**
   * @param {Component} component
   * @param {Disk} disk
   * @param {Policies} policies
   */
  constructor(component, disk, policies) {
    this.#component = component;
    this.#imports = {
      'wipam:ipam/storage': storage(disk, () => Number(this.#surroundings.timeMs)),
      'wipam:ipam/environment': this.#environment(),
      'wipam:ipam/policies': policies.interface,
    };
  }

  #environment() {
    return {
      resolvConf: (/** @type {string} */ path) => {
        // There are no files but those of networks.
        throw new StorageError('io',
          `reading resolvConf ${path}: No such file or directory (os error 2)`);
      },
      timeMs: () => this.#surroundings.timeMs,
      seed: () => this.#surroundings.seed,
      warn: (/** @type {string} */ message) => {
        this.#surroundings.warnings.push(message);
      },
      noting: () => true,
      note: (/** @type {string} */ message) => {
        this.#surroundings.notes.push(message);
      },
    };
  }

  /**
   * Adds a line to the notes of the invocation that goes on.
   * @param {string} line
   */
  note(line) {
    this.#surroundings.notes.push(line);
  }

  /**
   * @param {import('./simulator.js').Invocation} invocation
   * @param {Surroundings} surroundings
   * @returns {Outcome}
   */
  invoke(invocation, surroundings) {
    this.#surroundings = surroundings;
    const parameters = { ...invocation, ownNetns: false, config: encoder.encode(invocation.config) };
    try {
      const { ok, error } = this.#attempt((cni) => cni.invoke(parameters));
      return ok === undefined ? { status: 1, answer: error } : { status: 0, answer: ok };
    } catch (error) {
      return { status: -1, answer: trapped(error) };
    }
  }

  /**
   * The component's own words on a configuration.
   * @param {string} config
   */
  explain(config) {
    return this.#attempt((cni) => cni.explain(encoder.encode(config)));
  }

  /**
   * Calls the component. One that trapped is in no state to be called again.
   * @param {(cni: any) => string} call
   * @returns {{ok: string, error?: undefined} | {ok?: undefined, error: string}}
   */
  #attempt(call) {
    const { instantiate, getCoreModule } = this.#component;
    this.#cni ??= instantiate(getCoreModule, this.#imports).cni;
    try {
      return { ok: call(this.#cni) };
    } catch (/** @type {any} */ error) {
      // jco throws the `err` of a result with this property.
      if (Object.hasOwn(error, 'payload')) {
        return { error: error.payload };
      }
      this.#cni = undefined;
      throw error;
    }
  }
}

/**
 * The error object that the native host prints then.
 * @param {unknown} error
 */
function trapped(error) {
  const cause = error instanceof Error ? error.message : String(error);
  const object = {
    cniVersion: '1.1.0',
    code: TRAPPED,
    msg: `the component trapped: ${cause}`,
  };
  return JSON.stringify(object, null, 2);
}
