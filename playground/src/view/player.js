// What the page does with a scenario: opening it, carrying it out, going back
// and doing something else from there.

import { Overrun } from './client.js';
import { Model } from './model.js';
import {
  cut, lastNetwork, MOST_OPERATIONS, networkText, networkValue, pendingWait, totalOf,
} from './scenario.js';

/** @typedef {import('./types.js').Scenario} Scenario */
/** @typedef {import('./types.js').Step} Step */
/** @typedef {import('./types.js').Frame} Frame */
/** @typedef {import('./types.js').Start} Start */

/** Loading a policy means to translate and compile it. */
const LOADING_MS = 30_000;
/** The worker hands over what it has after this time. */
const SLICE_MS = 50;
/** Operations of a slice at most, so that a message stays small. */
const SLICE_MOST = 5_000;

/** @returns {Scenario} */
function nothing() {
  return { wipam: 'scenario/1', network: {}, steps: [] };
}

/**
 * Events: `opened` after another scenario, `moved` after another position or
 * more operations, `busy` when work begins, goes on or ends, `settled` when
 * nothing is being done any more, `ended-policy` after a policy was ended.
 */
export class Player extends EventTarget {
  /** @type {Scenario} what was done and is to be done */
  scenario = nothing();
  model = new Model({ directory: '', entries: [], now: 0 });
  /** Whether all steps were carried out. */
  isEnded = true;
  /** What is being done. @type {string} */
  busy = '';
  /** Policies that were ended: their paths, and why. @type {Map<string, string>} */
  banished = new Map();

  /** What people should know of how the scenario runs here. @type {string[]} */
  notices = [];

  #stop = false;

  /** @param {import('./client.js').Client} client */
  constructor(client) {
    super();
    this.client = client;
  }

  /** The network configuration in force at the position. */
  get network() {
    const { current, isAtEnd } = this.model;
    if (isAtEnd && this.isEnded) return lastNetwork(this.scenario);
    return current ? current.network : networkText(this.scenario.network);
  }

  /** What is waited behind the last operation, in milliseconds. */
  get waitMs() {
    return this.model.isAtEnd && this.isEnded ? pendingWait(this.scenario) : 0;
  }

  /** How many operations another one would drop. */
  get wouldDrop() {
    const later = this.model.frames.length - this.model.position;
    const notDone = this.isEnded ? 0 : totalOf(this.scenario) - this.model.frames.length;
    return later + Math.max(0, notDone);
  }

  /** The scenario as far as it is shown. */
  get shown() {
    return this.model.isAtEnd && this.isEnded ? this.scenario : cut(this.scenario, this.model.position);
  }

  /** @param {number} position */
  goTo(position) {
    const before = this.model.position;
    this.model.goTo(position);
    if (this.model.position !== before) this.#tell('moved');
  }

  /**
   * Opens a scenario and carries it out. If it cannot be opened, what was there
   * stays.
   * @param {Scenario} scenario
   */
  async open(scenario) {
    await this.#exclusively('Opening', async () => {
      await this.#load(scenario, []);
      this.scenario = scenario;
      this.#tell('opened');
      await this.#carryOut();
    });
  }

  /**
   * Does something at the position; whatever came later is dropped.
   * @param {string} network text of the configuration
   * @param {Step} step
   */
  async perform(network, step) {
    await this.#exclusively('Working', async () => {
      await this.#dropLater();
      if (network !== this.network) {
        await this.#append({ network: networkValue(network) });
      }
      await this.#append(step);
      await this.#carryOut();
    });
  }

  /** Goes on with what was stopped. */
  async goOn() {
    await this.#exclusively('Working', () => this.#carryOut());
  }

  /** Ends a run behind the operation that is being done. */
  stop() {
    this.#stop = true;
  }

  /**
   * Makes a policy known.
   * @param {string} path
   * @param {Uint8Array} bytes
   * @param {string} name
   * @param {import('./types.js').Component} saved how it is saved with the scenario
   */
  async addPolicy(path, bytes, name, saved) {
    await this.#exclusively('Loading the policy', async () => {
      let known;
      try {
        known = await this.client.callWithin(LOADING_MS, 'component', path, bytes, name);
      } catch (error) {
        if (error instanceof Overrun) await this.#load(this.scenario, this.model.frames);
        throw error;
      }
      const sha256 = known?.sha256;
      const component = sha256 === undefined ? saved : { ...saved, sha256 };
      this.scenario = {
        ...this.scenario,
        components: { ...this.scenario.components, [path]: component },
      };
      this.banished.delete(path);
    });
  }

  /**
   * Lets a policy that was ended try again.
   * @param {string} path
   */
  async forgive(path) {
    await this.#exclusively('Loading the policy', async () => {
      this.banished.delete(path);
      this.client.restart();
      await this.#load(this.scenario, this.model.frames);
    });
  }

  /**
   * Asks the worker for something that changes nothing.
   * @param {string} name
   * @param {any[]} args
   */
  async ask(name, ...args) {
    try {
      return await this.client.call(name, ...args);
    } catch (error) {
      // The new worker knows as much of this as the one that was ended.
      if (error instanceof Overrun) return this.client.call(name, ...args);
      throw error;
    }
  }

  // ------------------------------------------------------------------ inside

  /**
   * @param {string} what
   * @param {() => Promise<void>} work
   */
  async #exclusively(what, work) {
    if (this.busy !== '') throw new Error('something else is being done');
    this.busy = what;
    this.#stop = false;
    this.#tell('busy');
    try {
      await work();
    } finally {
      this.busy = '';
      this.#tell('busy');
      this.#tell('settled');
    }
  }

  /**
   * @param {Scenario} scenario
   * @param {Frame[]} frames that count as done
   */
  async #load(scenario, frames) {
    const text = JSON.stringify(scenario);
    const isNew = frames.length === 0 && scenario !== this.scenario;
    const model = this.model;
    const limit = LOADING_MS + frames.length;
    try {
      /** @type {Start} */
      const start = frames.length === 0
        ? await this.client.callWithin(limit, 'open', text)
        : await this.client.callWithin(limit, 'restore', text, frames);
      this.notices = start.notices ?? [];
      if (isNew) this.banished.clear();
      for (const [path, why] of this.banished) await this.client.call('banish', path, why);
      this.model = new Model(start);
    } catch (error) {
      if (isNew) {
        // The worker may have let go of the scenario before.
        await this.client.call('restore', JSON.stringify(this.scenario), model.frames).catch(() => {});
        for (const [path, why] of this.banished) await this.client.call('banish', path, why);
      }
      throw error;
    }
    this.isEnded = false;
    this.model.push(frames);
    this.model.goTo(frames.length);
  }

  async #dropLater() {
    const { model } = this;
    if (model.isAtEnd && this.isEnded) return;
    const scenario = cut(this.scenario, model.position);
    await this.#load(scenario, model.frames.slice(0, model.position));
    this.scenario = scenario;
    this.isEnded = true;
    this.#tell('moved');
  }

  /** @param {Step} step */
  async #append(step) {
    await this.client.call('append', JSON.stringify(step));
    this.scenario = { ...this.scenario, steps: [...(this.scenario.steps ?? []), step] };
    this.isEnded = false;
  }

  async #carryOut() {
    let isEnded = false;
    while (!isEnded && !this.#stop) {
      const room = MOST_OPERATIONS - this.model.frames.length;
      if (room <= 0) break;
      isEnded = await this.#slice(Math.min(SLICE_MOST, room));
    }
    this.isEnded = isEnded;
    this.#tell('moved');
  }

  /**
   * @param {number} most
   * @returns {Promise<boolean>} whether nothing is left
   */
  async #slice(most) {
    try {
      const { frames, ended } = await this.client.call('run', most, SLICE_MS);
      this.#take(frames);
      return ended;
    } catch (error) {
      if (!(error instanceof Overrun) || error.path === undefined) throw error;
      await this.#afterOverrun(error);
      return false;
    }
  }

  /**
   * The worker was ended in the middle of an operation, and what it had done in
   * the same slice is lost. That is done again, with the policy; from the
   * operation that took too long on, the policy fails.
   * @param {Overrun} overrun
   */
  async #afterOverrun(overrun) {
    const path = /** @type {string} */ (overrun.path);
    await this.#load(this.scenario, this.model.frames);
    // Operations that ask nothing come out the same either way.
    for (let asked = 0; asked < overrun.asked;) {
      const { frames } = await this.client.call('run', 1, SLICE_MS);
      this.#take(frames);
      asked += this.client.asked;
      if (frames.length === 0) break;
    }
    const why = `was ended after ${overrun.limitMs} ms`;
    this.banished.set(path, why);
    await this.client.call('banish', path, why);
    this.dispatchEvent(new CustomEvent('ended-policy', { detail: { path, why, number: this.model.frames.length + 1 } }));
  }

  /** @param {Frame[]} frames */
  #take(frames) {
    const { model } = this;
    // Whoever steps back meanwhile wants to see something there.
    const isFollowed = model.isAtEnd;
    model.push(frames);
    if (isFollowed) model.goTo(model.frames.length);
    this.#tell('moved');
    this.#tell('busy');
  }

  /** @param {string} what */
  #tell(what) {
    this.dispatchEvent(new Event(what));
  }
}
