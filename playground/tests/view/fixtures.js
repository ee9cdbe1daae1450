// Small things to test with.

import { Model } from '../../src/view/model.js';
import { Pool } from '../../src/view/pool.js';

/** @typedef {import('../../src/view/types.js').Frame} Frame */
/** @typedef {import('../../src/view/types.js').Layout} Layout */

export const DIRECTORY = '/var/lib/cni/networks/demo';
export const START = 1_767_225_600_000;

/**
 * @param {Partial<Layout>} [more]
 * @returns {Layout}
 */
export function layout(more = {}) {
  return {
    network: 'demo',
    directory: DIRECTORY,
    sets: [{
      size: '253',
      ranges: [{ subnet: '10.1.0.0/24', first: '10.1.0.1', last: '10.1.0.254', gateway: '10.1.0.1', size: '253' }],
    }],
    gateways: ['10.1.0.1'],
    barred: ['10.1.0.0', '10.1.0.255'],
    exclude: [],
    static: [],
    strategy: 'round-robin',
    cooldownMs: 0,
    whenFull: 'refuse',
    keepMs: 0,
    policy: null,
    ...more,
  };
}

/** @param {Partial<Layout>} [more] */
export function pool(more) {
  return new Pool(layout(more));
}

/** @param {[string, any][]} [entries] */
export function model(entries = []) {
  return new Model({ directory: DIRECTORY, entries, now: START });
}

/**
 * @param {number} number
 * @param {Partial<Frame>} [more]
 * @returns {Frame}
 */
export function frame(number, more = {}) {
  return {
    number,
    ms: number * 1000,
    command: 'ADD',
    container: 'web',
    interface: 'eth0',
    netns: '/run/netns/web',
    args: '',
    path: '/opt/cni/bin',
    config: '{}',
    network: '{}',
    status: 0,
    answer: '',
    warnings: [],
    notes: [],
    changes: [],
    line: `{"operation":${number}}`,
    ...more,
  };
}

/** @param {string} address */
export function file(address) {
  return `f:${DIRECTORY}/${address}`;
}

/** @param {string} address */
export function past(address) {
  return `h:${DIRECTORY}/${address}`;
}
