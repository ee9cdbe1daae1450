// The interface `wipam:ipam/policies`: puts choices to policies, each in a
// fresh instance, with the checks and the words of the native engine.

import { PolicyFailure, Name } from './policy-failure.js';
import { NO_POOL, PolicyImports } from './policy-imports.js';
import { oneLine } from './policy-log.js';

/**
 * @typedef {import('./policy-imports.js').Limits} Limits
 * @typedef {import('./policy-imports.js').View} View
 * @typedef {import('./policy.js').Policy} Policy
 * @typedef {import('./policy.js').Code} Code
 * @typedef {import('./address.js').Address} Address
 * @typedef {import('./store.js').Network} Network
 * @typedef {{component: string, cache: string, limits: Limits}} Setting
 */

/**
 * @typedef {{tag: 'candidates', val: Address[]} | {tag: 'none', val: string}
 *   | {tag: 'you-decide'}} Answer
 */

/** Most candidates that an answer may have. */
const MOST_CANDIDATES = 1024;

/** Bytes that the native engine counts for each of them. */
const CANDIDATE = 20;

/** A policy that can be asked, and what messages call it. @typedef {{name: Name, code: Code}} Loaded */

export class Policies {
  /** By path. @type {Map<string, Policy>} */
  #known = new Map();
  /** Why they are not asked any more. @type {Map<string, string>} */
  #banished = new Map();
  #asking;
  #say;

  /**
   * @param {(path: string) => void} asking told before a policy is run
   * @param {(line: string) => void} say told what it says
   */
  constructor(asking, say) {
    this.#asking = asking;
    this.#say = say;
  }

  /** Forgets all of them. */
  clear() {
    this.#known.clear();
    this.#banished.clear();
  }

  /**
   * @param {string} path
   * @param {Policy} policy
   */
  set(path, policy) {
    this.#known.set(path, policy);
    this.#banished.delete(path);
  }

  /**
   * Lets a policy fail from now on.
   * @param {string} path
   * @param {string} why
   */
  banish(path, why) {
    this.#banished.set(path, why);
  }

  /** What the component imports. */
  get interface() {
    return {
      choose: this.#choose.bind(this),
      ready: (/** @type {Setting} */ setting) => {
        this.#load(setting);
      },
      released: this.#released.bind(this),
    };
  }

  /**
   * @param {Network} network
   * @param {Setting} setting
   * @param {object} request
   * @param {View} view
   */
  #choose(network, setting, request, view) {
    const loaded = this.#load(setting);
    const answer = this.#run(loaded, network, setting, view, (instance, imports) => {
      const answer = checked(instance.choice.choose(request));
      if (answer.tag === 'candidates') {
        imports.lifted(answer.val.length * CANDIDATE);
      }
      return answer;
    }, (answer) => {
      if (answer.tag === 'candidates' && answer.val.length > MOST_CANDIDATES) {
        throw loaded.name.fails(
          `answered ${answer.val.length} candidates, wanted at most ${MOST_CANDIDATES}`);
      }
      return answer.tag !== 'none';
    });
    return {
      answer: answer.tag === 'none' ? { tag: 'none', val: oneLine(answer.val) } : answer,
      by: String(loaded.name),
    };
  }

  /**
   * A policy sees reservations then, but no ranges: the address may be of any
   * set, or of none any more.
   * @param {Network} network
   * @param {Setting} setting
   * @param {object} notice
   */
  #released(network, setting, notice) {
    const loaded = this.#load(setting);
    if (loaded.code.isTold) {
      this.#run(loaded, network, setting, NO_POOL,
        (instance) => instance.releases.released(notice), () => true);
    }
  }

  /**
   * One decision. What the policy says is told whatever becomes of it; what it
   * writes counts if all goes well.
   * @template T
   * @param {Loaded} loaded
   * @param {Network} network
   * @param {Setting} setting
   * @param {View} view
   * @param {(instance: {choice: any, releases: any}, imports: PolicyImports) => T} call
   * @param {(result: T) => boolean} keeps whether it counts what was written
   */
  #run({ name, code }, network, { component, limits }, view, call, keeps) {
    this.#asking(component);
    const imports = new PolicyImports(network.ledger, view, limits);
    try {
      const result = attempt(name, limits, () => {
        const instance = code.instantiate(imports, limits);
        const result = call(instance, imports);
        imports.check();
        return result;
      });
      if (keeps(result)) {
        imports.state.commit();
      }
      return result;
    } finally {
      imports.log.lines().forEach((line) => this.#say(line));
    }
  }

  /**
   * A policy that can be asked, or a failure that says why it cannot.
   * @param {Setting} setting
   * @returns {Loaded}
   */
  #load({ component: path, limits }) {
    const policy = this.#known.get(path);
    if (policy === undefined) {
      throw new Name(path, undefined)
        .fails('could not be read: there is no component of this name');
    }
    if (policy.size > limits.component) {
      throw new Name(path, undefined).fails(
        `exceeded its limit of ${limits.component} bytes of component: it has ${policy.size}`);
    }
    const name = new Name(path, policy.digest);
    const fault = this.#banished.get(path) ?? policy.fault;
    if (fault !== undefined || policy.code === undefined) {
      throw name.fails(fault ?? 'has no code');
    }
    return { name, code: policy.code };
  }
}

/**
 * @template T
 * @param {Name} name
 * @param {Limits} limits
 * @param {() => T} work
 */
function attempt(name, limits, work) {
  try {
    return work();
  } catch (error) {
    throw error instanceof PolicyFailure ? error : name.ended(error, limits.stack);
  }
}

/**
 * An answer, or what a function gave that is no `choose`: it would be the
 * plugin that trips over it.
 * @param {any} answer
 * @returns {Answer}
 */
function checked(answer) {
  switch (answer?.tag) {
    case 'you-decide':
      return answer;
    case 'none':
      if (typeof answer.val === 'string') {
        return answer;
      }
      break;
    case 'candidates':
      if (Array.isArray(answer.val) && answer.val.every(isAddress)) {
        return answer;
      }
      break;
  }
  throw new Error('failed to convert function to given type');
}

/** @param {any} value */
function isAddress(value) {
  return value?.tag === 'ipv4'
    ? typeof value.val === 'number'
    : value?.tag === 'ipv6' && Array.isArray(value.val) && value.val.length === 4;
}
