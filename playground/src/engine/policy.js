// One policy: from the bytes of a component to a function that can be asked.

import { limited, needs } from './core-module.js';
import { exportsOf, wrongForm } from './fit.js';
import { oneLine } from './policy-log.js';
import { importModule, transpile } from './transpile.js';

/**
 * @typedef {import('./core-module.js').Needs} Needs
 * @typedef {import('./fit.js').Exports} Exports
 * @typedef {import('./policy-imports.js').Limits} Limits
 * @typedef {import('./policy-imports.js').PolicyImports} PolicyImports
 * @typedef {import('./transpile.js').Generate} Generate
 * @typedef {import('./transpile.js').Module} Module
 */

/** Most memory of a policy that does not say otherwise, in bytes. */
const USUAL_MEMORY = 16 << 20;

/**
 * A component that was looked at: it can be run, or it is known what is wrong
 * with it.
 * @typedef {{size: number, digest: string | undefined, fault: string | undefined,
 *   code: Code | undefined}} Policy
 */

/**
 * @param {Uint8Array} bytes
 * @param {string | undefined} digest
 * @param {() => Promise<Generate>} transpiler
 * @returns {Promise<Policy>}
 */
export async function loadPolicy(bytes, digest, transpiler) {
  const policy = { size: bytes.length, digest };
  try {
    return { ...policy, fault: undefined, code: await load(bytes, await transpiler()) };
  } catch (error) {
    if (!(error instanceof Fault)) {
      throw error;
    }
    return { ...policy, fault: error.message, code: undefined };
  }
}

/** What is wrong with a component. */
class Fault extends Error {}

/**
 * @param {Uint8Array} bytes
 * @param {Generate} generate
 */
async function load(bytes, generate) {
  const form = wrongForm(bytes);
  if (form !== undefined) {
    throw new Fault(`is no policy: ${form}`);
  }
  const { source, modules } = attempt('could not be compiled', () => transpile(bytes, generate));
  const exports = attempt('is no policy', () => exportsOf(bytes));
  const module = await importModule(source);
  const code = new Code(module, modules, exports);
  attempt('could not be compiled', () => code.compile(USUAL_MEMORY));
  return code;
}

/**
 * @template T
 * @param {string} what it is called if it fails
 * @param {() => T} work
 */
function attempt(what, work) {
  try {
    return work();
  } catch (error) {
    throw new Fault(`${what}: ${oneLine(error instanceof Error ? error.message : String(error))}`);
  }
}

/** What can be instantiated, anew for each decision. */
export class Code {
  #module;
  #modules;
  #exports;
  /** Compiled for a limit of memory: as a rule there is but one. @type {Map<number, Compiled>} */
  #compiled = new Map();

  /**
   * @param {Module} module
   * @param {Map<string, Uint8Array<ArrayBuffer>>} modules
   * @param {Exports} exports
   */
  constructor(module, modules, exports) {
    this.#module = module;
    this.#modules = modules;
    this.#exports = exports;
  }

  /** Whether it wants to be told of releases. */
  get isTold() {
    return this.#exports.releases !== undefined;
  }

  /**
   * @param {number} memory the limit, in bytes
   * @returns {Compiled}
   */
  compile(memory) {
    const known = this.#compiled.get(memory);
    if (known !== undefined) {
      return known;
    }
    const compiled = new Compiled(this.#modules, memory);
    this.#compiled.set(memory, compiled);
    return compiled;
  }

  /**
   * A fresh instance: its interfaces.
   * @param {PolicyImports} imports
   * @param {Limits} limits
   * @returns {{choice: any, releases: any}}
   */
  instantiate(imports, limits) {
    const compiled = this.compile(Number(limits.memory));
    const meter = new Meter(imports, limits);
    const instance = this.#module.instantiate(
      (name) => compiled.module(name),
      imports.all,
      (module, objects) => {
        meter.add(compiled.needs(module));
        return new WebAssembly.Instance(module, objects);
      },
    );
    const { choice, releases } = this.#exports;
    return {
      choice: instance[choice],
      releases: releases === undefined ? undefined : instance[releases],
    };
  }
}

/** Core modules, compiled with memories that cannot grow beyond a limit. */
class Compiled {
  /** @type {Map<string, WebAssembly.Module>} */
  #modules = new Map();
  /** @type {Map<WebAssembly.Module, Needs>} */
  #needs = new Map();

  /**
   * @param {Map<string, Uint8Array<ArrayBuffer>>} modules
   * @param {number} memory
   */
  constructor(modules, memory) {
    for (const [name, bytes] of modules) {
      const module = new WebAssembly.Module(limited(bytes, memory));
      this.#modules.set(name, module);
      this.#needs.set(module, needs(bytes));
    }
  }

  /** @param {string} name */
  module(name) {
    return /** @type {WebAssembly.Module} */ (this.#modules.get(name));
  }

  /** @param {WebAssembly.Module} module */
  needs(module) {
    return /** @type {Needs} */ (this.#needs.get(module));
  }
}

/**
 * Counts what the instances of one decision have from the beginning. What
 * tables grow by is not known here: a browser has a limit of its own.
 */
class Meter {
  #imports;
  #limits;
  #used = { instances: 0, memories: 0, memory: 0, tables: 0, elements: 0 };

  /**
   * @param {PolicyImports} imports
   * @param {Limits} limits
   */
  constructor(imports, limits) {
    this.#imports = imports;
    this.#limits = limits;
  }

  /** @param {Needs} needs of one more instance */
  add({ memories, memory, tables, elements }) {
    const used = this.#used;
    const { instances: most, tableElements } = this.#limits;
    used.instances += 1;
    used.memories += memories;
    used.memory += memory;
    used.tables += tables;
    used.elements += elements;
    this.#check(used.instances, most, 'instances');
    this.#check(used.memories, most, 'memories');
    this.#check(used.tables, most, 'tables');
    this.#check(used.memory, Number(this.#limits.memory), 'bytes of memory');
    this.#check(used.elements, tableElements, 'elements of tables');
  }

  /**
   * @param {number} used
   * @param {number} most
   * @param {string} what
   */
  #check(used, most, what) {
    if (used > most) {
      throw this.#imports.exceeded(`${most} ${what}`);
    }
  }
}
