import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Overrun } from '../../src/view/client.js';
import { Player } from '../../src/view/player.js';
import { frame, START } from './fixtures.js';

/** @typedef {import('../../src/view/types.js').Frame} Frame */
/** @typedef {import('../../src/view/types.js').Step} Step */

/**
 * A worker that does steps and decides nothing. Adding "slow" takes too long,
 * unless its policy is banished; then it fails.
 */
class FakeClient {
  workers = 1;
  limitMs = 1000;
  asked = 0;
  /** @type {any[][]} */
  calls = [];
  /** @type {Step[]} */
  #steps = [];
  #network = '';
  #at = 0;
  #done = 0;
  #isBanished = false;
  /** @type {Frame[]} */
  #lost = [];

  /** @type {(limit: number, name: string, ...args: any[]) => Promise<any>} */
  callWithin(_limit, name, ...args) {
    return this.call(name, ...args);
  }

  /**
   * @param {string} name
   * @param {any[]} args
   * @returns {Promise<any>}
   */
  async call(name, ...args) {
    this.calls.push([name, ...args]);
    switch (name) {
      case 'open': case 'restore': return this.#open(JSON.parse(args[0]), args[1] ?? []);
      case 'append': this.#steps.push(JSON.parse(args[0])); return undefined;
      case 'banish': this.#isBanished = true; return undefined;
      case 'run': return this.#run(args[0]);
      default: return undefined;
    }
  }

  restart() {}

  /**
   * @param {any} scenario
   * @param {Frame[]} frames
   */
  #open(scenario, frames) {
    if (scenario.wipam !== 'scenario/1') throw new Error('no scenario');
    this.#steps = [...scenario.steps];
    this.#network = scenario.network;
    this.#isBanished = false;
    this.#at = 0;
    this.#done = 0;
    for (const _ of frames) this.#next();
    return { directory: '/d', entries: [], now: START };
  }

  /** @returns {Step | undefined} the next one that is an operation */
  #next() {
    for (;;) {
      const step = this.#steps[this.#at];
      this.#at += 1;
      if (step === undefined) {
        this.#at -= 1;
        return undefined;
      }
      if (step.network !== undefined) this.#network = step.network;
      else if (step.wait === undefined) {
        this.#done += 1;
        return step;
      }
    }
  }

  /** @param {number} most */
  #run(most) {
    this.asked = 0;
    this.#lost = [];
    while (this.#lost.length < most) {
      const step = this.#next();
      if (!step) return { frames: this.#lost, ended: true };
      const container = Object.values(step)[0];
      if (container === 'slow' && !this.#isBanished) throw new Overrun('/p.wasm', this.limitMs, this.asked);
      // Those whose names begin with "q" ask nothing.
      const isAsked = !container.startsWith('q');
      if (isAsked) this.asked += 1;
      this.#lost.push(frame(this.#done, {
        container, network: this.#network, status: isAsked && this.#isBanished ? 1 : 0,
      }));
    }
    return { frames: this.#lost, ended: false };
  }
}

/** @param {Step[]} steps */
function scenario(...steps) {
  return { wipam: 'scenario/1', network: 'first', steps };
}

async function opened(/** @type {Step[]} */ ...steps) {
  const client = new FakeClient();
  const player = new Player(/** @type {any} */ (client));
  await player.open(scenario(...steps));
  return { client, player };
}

/** @param {Player} player */
const containers = (player) => player.model.frames.map(({ container, status }) => `${container}${status === 0 ? '' : '!'}`);

test('opening carries everything out', async () => {
  const { player } = await opened({ add: 'a' }, { wait: '5s' }, { add: 'b' }, { wait: '3s' });
  assert.deepEqual(containers(player), ['a', 'b']);
  assert.deepEqual([player.isEnded, player.model.position, player.waitMs, player.wouldDrop], [true, 2, 3000, 0]);
});

test('another operation uses another configuration from there on', async () => {
  const { client, player } = await opened({ add: 'a' });
  assert.equal(player.network, 'first');
  await player.perform('first', { add: 'b' });
  await player.perform('second', { add: 'c' });
  await player.perform('second', { del: 'c' });
  assert.deepEqual(player.scenario.steps, [{ add: 'a' }, { add: 'b' }, { network: 'second' }, { add: 'c' }, { del: 'c' }]);
  assert.deepEqual(player.model.frames.map(({ network }) => network), ['first', 'first', 'second', 'second']);
  assert.equal(client.calls.filter(([name]) => name === 'restore').length, 0);
  player.goTo(2);
  assert.equal(player.network, 'first');
});

test('an operation after stepping back drops the later ones', async () => {
  const { client, player } = await opened({ add: 'a' }, { add: 'b' }, { network: 'x' }, { add: 'c' });
  player.goTo(1);
  assert.equal(player.wouldDrop, 2);
  await player.perform('first', { add: 'z' });
  assert.deepEqual(containers(player), ['a', 'z']);
  assert.deepEqual(player.scenario.steps, [{ add: 'a' }, { add: 'z' }]);
  const restored = client.calls.find(([name]) => name === 'restore');
  assert.equal(restored?.[2].length, 1);
});

test('what is shown is what was done up to there', async () => {
  const { player } = await opened({ add: 'a' }, { network: 'x' }, { add: 'b' }, { wait: '1s' });
  assert.equal(player.shown.steps?.length, 4);
  player.goTo(1);
  assert.deepEqual(player.shown.steps, [{ add: 'a' }]);
});

test('a scenario that cannot be opened leaves the one before', async () => {
  const { client, player } = await opened({ add: 'a' });
  await assert.rejects(player.open({ wipam: 'x', steps: [] }), /no scenario/);
  assert.deepEqual(containers(player), ['a']);
  assert.equal(client.calls.at(-1)?.[0], 'restore');
  await player.perform('first', { add: 'b' });
  assert.deepEqual(containers(player), ['a', 'b']);
});

test('from the operation on that took too long a policy fails, and not before', async () => {
  const { client, player } = await opened({ add: 'a' }, { del: 'q1' }, { add: 'b' }, { del: 'q2' }, { add: 'slow' }, { add: 'c' });
  // "b" was done in the slice that was lost, and is done again as it was.
  assert.deepEqual(containers(player), ['a', 'q1', 'b', 'q2', 'slow!', 'c!']);
  assert.deepEqual([...player.banished], [['/p.wasm', 'was ended after 1000 ms']]);
  assert.equal(client.calls.filter(([name]) => name === 'banish').length, 1);
  // It stays so when another worker takes over.
  player.goTo(4);
  await player.perform('first', { add: 'd' });
  assert.equal(containers(player).at(-1), 'd!');
  await player.forgive('/p.wasm');
  await player.perform('first', { add: 'e' });
  assert.equal(containers(player).at(-1), 'e');
});

test('one thing at a time', async () => {
  const { player } = await opened();
  const first = player.perform('first', { add: 'a' });
  await assert.rejects(player.perform('first', { add: 'b' }), /something else/);
  await first;
  assert.deepEqual(containers(player), ['a']);
});
