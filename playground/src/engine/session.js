// One scenario that is played: everything behind the protocol of the worker.

import { parseKey } from './address.js';
import { sha256 } from './digest.js';
import { Disk } from './disk.js';
import { Plugin } from './plugin.js';
import { Policies } from './policies.js';
import { loadPolicy } from './policy.js';
import { classify } from './record.js';
import { attempt, insist, simulation } from './simulator.js';

/**
 * @typedef {import('./changes.js').Change} Change
 * @typedef {import('./changes.js').Value} Value
 * @typedef {import('./plugin.js').Component} Component
 * @typedef {import('./policy.js').Policy} Policy
 * @typedef {import('./simulator.js').Invocation} Invocation
 * @typedef {import('./simulator.js').Operation} Operation
 * @typedef {import('./simulator.js').Scenario} Scenario
 * @typedef {import('./simulator.js').Simulation} Simulation
 * @typedef {import('./simulator.js').Supplied} Supplied
 * @typedef {import('./transpile.js').Generate} Generate
 */

/**
 * What a session needs from where it runs.
 * @typedef {object} Host
 * @property {Component} plugin
 * @property {Component} simulator
 * @property {() => Promise<Generate>} transpiler called when the first policy is loaded
 * @property {(name: string) => Promise<Uint8Array<ArrayBuffer>>} policyFile the bytes of a policy
 *   that comes with the site
 * @property {(event: {event: 'asking', path: string} | {event: 'asked'}) => void} tell
 *   told before a policy is first run in an operation, and after such an operation
 */

/**
 * One operation and what came of it.
 * @typedef {object} Frame
 * @property {number} number from 1
 * @property {number} ms since the scenario's start
 * @property {string} command ADD, CHECK, DEL, GC, STATUS or REBOOT
 * @property {string} container
 * @property {string} interface
 * @property {string} netns
 * @property {string} args
 * @property {string} path
 * @property {string} config standard input
 * @property {string} network the network configuration in force
 * @property {number} status exit status; -1 where the component trapped
 * @property {string} answer standard output
 * @property {string[]} warnings standard error
 * @property {string[]} notes how the address was chosen
 * @property {Change[]} changes
 * @property {string} line of the file of answers
 */

/**
 * The state before the first operation: the network's directory, the entries,
 * the time in milliseconds since 1970, and what people should know of how the
 * session runs.
 * @typedef {object} Start
 * @property {string} directory empty where the configuration has none
 * @property {[string, Value][]} entries
 * @property {number} now
 * @property {string[]} notices
 */

/** @typedef {{ok: any, error?: undefined} | {ok?: undefined, error: string}} Reply */

/** What is invoked by a reboot: nothing. */
const NOTHING = {
  command: 'REBOOT',
  containerId: '',
  interfaceName: '',
  netns: '',
  args: '',
  path: '',
  config: '',
};

export class Session {
  #host;
  #policies;
  #disk = new Disk();
  /** @type {Plugin} */
  #plugin;
  /** @type {Simulation | undefined} */
  #simulation = undefined;
  /** @type {Scenario | undefined} */
  #scenario = undefined;
  /** What comes next, once it had to be known. @type {Operation | undefined} */
  #next = undefined;
  /**
   * What was loaded under a path: a scenario is opened again and again.
   * @type {Map<string, {bytes: Uint8Array, policy: Policy}>}
   */
  #loaded = new Map();
  /** Policies that were run in the operation that goes on. @type {Set<string>} */
  #asked = new Set();

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    this.#policies = new Policies(
      (path) => this.#asking(path),
      (line) => this.#plugin.note(`the policy says: ${line}`),
    );
    this.#plugin = new Plugin(host.plugin, this.#disk, this.#policies);
  }

  // ------------------------------------------------------------- the scenario

  /**
   * @param {string} text
   * @returns {Promise<Start>}
   */
  async open(text) {
    this.#scenario = undefined;
    this.#next = undefined;
    this.#policies.clear();
    this.#disk = new Disk();
    this.#plugin = new Plugin(this.#host.plugin, this.#disk, this.#policies);
    // A fresh one: memory of WebAssembly is never given back.
    this.#simulation = simulation(this.#host.simulator);
    const { Scenario } = this.#simulation;
    const scenario = insist(() => Scenario.open(text));
    const notices = await this.#supply(scenario.components());
    const directory = this.#begin(text, scenario.files());
    this.#scenario = scenario;
    return {
      directory,
      entries: this.#disk.values(),
      now: Number(scenario.startMs()),
      notices,
    };
  }

  /**
   * As `open`, and takes these operations as done.
   * @param {string} text
   * @param {Frame[]} frames
   */
  async restore(text, frames) {
    const start = await this.open(text);
    for (const frame of frames) {
      const operation = this.#peek();
      this.#disk.redo(frame.changes);
      const line = operation?.number === frame.number ? this.#answered(frame) : undefined;
      if (line !== frame.line) {
        this.#scenario = undefined;
        throw new Error(`operation ${frame.number} is not the scenario's: ${frame.line}`);
      }
    }
    return start;
  }

  /**
   * Loads the policies of a scenario. What cannot be a policy is for the
   * plugin to find out, as natively.
   * @param {Supplied[]} components
   */
  async #supply(components) {
    let hasDigests = true;
    for (const { path, source, sha256: wanted } of components) {
      const bytes = source.tag === 'file' ? await this.#host.policyFile(source.val) : source.val;
      const policy = await this.#policy(path, bytes);
      const { digest } = policy;
      if (wanted !== undefined && digest !== undefined && digest !== wanted.toLowerCase()) {
        throw new Error(`${source.tag === 'file' ? source.val : path}: another policy than the `
          + `scenario's: wanted sha256 ${wanted}, found ${digest}`);
      }
      hasDigests &&= digest !== undefined;
      this.#policies.set(path, policy);
    }
    return hasDigests ? [] : ['policies are not compared with their sha256, and messages do not '
      + 'name it: browsers compute digests only for pages that come over https or from localhost'];
  }

  /**
   * @param {string} path
   * @param {Uint8Array<ArrayBuffer>} bytes
   */
  async #policy(path, bytes) {
    const known = this.#loaded.get(path);
    if (known !== undefined && isSame(known.bytes, bytes)) {
      return known.policy;
    }
    const policy = await loadPolicy(bytes, await sha256(bytes), this.#host.transpiler);
    this.#loaded.set(path, { bytes, policy });
    return policy;
  }

  /**
   * Puts the files that are there at first into the network's directory.
   * @param {string} text of the scenario
   * @param {[string, string][]} files
   * @returns {string} the directory
   */
  #begin(text, files) {
    const { network } = JSON.parse(text);
    const config = typeof network === 'string' ? network : JSON.stringify(network, null, 2);
    const { ok, error } = this.layout(config);
    if (ok === undefined) {
      if (files.length > 0) {
        throw new Error(
          `files: the network configuration says nowhere to put them: ${error}`);
      }
      return '';
    }
    if (files.length > 0) {
      const directory = this.#disk.make(ok.directory);
      files.forEach(([name, content]) => directory.set(name, content));
      this.#disk.takeChanges();
    }
    return ok.directory;
  }

  /** @param {string} step as JSON */
  append(step) {
    const scenario = this.#opened();
    insist(() => scenario.append(step));
  }

  #opened() {
    if (this.#scenario === undefined) {
      throw new Error('no scenario is open');
    }
    return this.#scenario;
  }

  #peek() {
    this.#next ??= this.#opened().next();
    return this.#next;
  }

  // ------------------------------------------------------------- operations

  /**
   * Does what comes next: at most so many operations, until so many
   * milliseconds have passed, or until nothing is left.
   * @param {number} most
   * @param {number} ms
   */
  run(most, ms) {
    const end = performance.now() + ms;
    /** @type {Frame[]} */
    const frames = [];
    let operation = this.#peek();
    while (operation !== undefined && frames.length < most) {
      frames.push(this.#carryOut(operation));
      operation = this.#peek();
      if (performance.now() >= end) {
        break;
      }
    }
    return { frames, ended: operation === undefined };
  }

  /**
   * @param {Operation} operation
   * @returns {Frame}
   */
  #carryOut(operation) {
    const { number, ms, network, task } = operation;
    const invocation = task.tag === 'invoke' ? task.val : NOTHING;
    const done = task.tag === 'invoke'
      ? this.#invoke(operation, task.val)
      : this.#reboot(operation);
    const changes = this.#disk.takeChanges();
    return {
      number,
      ms: Number(ms),
      command: invocation.command,
      container: invocation.containerId,
      interface: invocation.interfaceName,
      netns: invocation.netns,
      args: invocation.args,
      path: invocation.path,
      config: invocation.config,
      network,
      ...done,
      changes,
      line: this.#answered({ ...done, changes }),
    };
  }

  /**
   * @param {Operation} operation
   * @param {Invocation} invocation
   */
  #invoke({ timeMs, seed }, invocation) {
    const surroundings = { timeMs, seed, warnings: [], notes: [] };
    const outcome = this.#plugin.invoke(invocation, surroundings);
    if (outcome.status < 0) {
      // Whoever failed half way has given nothing back.
      this.#disk.revert();
    }
    if (this.#asked.size > 0) {
      this.#asked.clear();
      this.#host.tell({ event: 'asked' });
    }
    const { warnings, notes } = surroundings;
    return { ...outcome, warnings, notes };
  }

  /** @param {Operation} operation */
  #reboot({ timeMs }) {
    this.#disk.reboot(Number(timeMs));
    return { status: 0, answer: '', warnings: [], notes: [] };
  }

  /**
   * Tells the simulator what came of the operation.
   * @param {Pick<Frame, 'status' | 'answer' | 'warnings' | 'changes'>} done
   */
  #answered({ status, answer, warnings, changes }) {
    this.#next = undefined;
    return this.#opened().answered({
      answer: { tag: status === 0 ? 'ok' : 'err', val: answer },
      warnings,
      ...turned(changes),
    });
  }

  /** @param {string} path of a policy that is about to be run */
  #asking(path) {
    if (!this.#asked.has(path)) {
      this.#asked.add(path);
      this.#host.tell({ event: 'asking', path });
    }
  }

  // ---------------------------------------------------------------- questions

  /**
   * The component's own words on a configuration.
   * @param {string} config
   * @returns {Reply}
   */
  explain(config) {
    return this.#plugin.explain(config);
  }

  /**
   * @param {string} config
   * @returns {Reply}
   */
  layout(config) {
    this.#simulation ??= simulation(this.#host.simulator);
    const { layout } = this.#simulation;
    const { ok, error } = attempt(() => layout(config));
    return ok === undefined ? { error: String(error) } : { ok: JSON.parse(ok) };
  }

  /** @returns {any} */
  summary() {
    return JSON.parse(this.#opened().summary());
  }

  /** @returns {any} */
  series() {
    return JSON.parse(this.#opened().series());
  }

  /** An SVG. */
  picture() {
    return this.#opened().picture();
  }

  // ----------------------------------------------------------------- policies

  /**
   * Makes a policy known under a path.
   * @param {string} path
   * @param {Uint8Array<ArrayBuffer>} bytes
   * @param {string} name what people call it
   */
  async component(path, bytes, name) {
    const policy = await this.#policy(path, bytes);
    if (policy.fault !== undefined) {
      throw new Error(`${name} ${policy.fault}`);
    }
    this.#policies.set(path, policy);
    return { sha256: policy.digest };
  }

  /**
   * Lets a policy fail from now on.
   * @param {string} path
   * @param {string} why what became of it
   */
  banish(path, why) {
    this.#policies.banish(path, why);
  }
}

/**
 * The addresses that became reserved, and those that became free.
 * @param {Change[]} changes
 */
function turned(changes) {
  /** @type {string[]} */
  const reserved = [];
  /** @type {string[]} */
  const released = [];
  for (const { key, before, after } of changes) {
    const name = key.slice(key.lastIndexOf('/') + 1);
    if (key.startsWith('f:') && parseKey(name) !== undefined) {
      const [was, is] = [isReservation(before), isReservation(after)];
      if (is && !was) {
        reserved.push(name);
      } else if (was && !is) {
        released.push(name);
      }
    }
  }
  return { reserved, released };
}

/** @param {Value | undefined} file */
function isReservation(file) {
  return typeof file === 'string' && classify(file).tag === 'owner';
}

/**
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
function isSame(a, b) {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
