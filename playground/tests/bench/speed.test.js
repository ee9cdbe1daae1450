// How fast it is: told, and never judged, for machines differ. What would be
// noticed here is a walk over all reservations with every operation: that
// would take hours.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { session } from '../engine/helper.js';

/** Addresses to give in a /16. */
const ALL = 65_533;

const CHURN = 10_000;

/**
 * @param {string} name
 * @param {object} ipam
 * @param {number} filled how many are reserved before others come and go
 */
function measure(name, ipam, filled) {
  test(name, async (context) => {
    const { session: one } = await session();
    await one.open(JSON.stringify({
      wipam: 'scenario/1',
      network: { cniVersion: '1.1.0', name: 'demo', type: 'bridge', ipam: { type: 'host-local', ...ipam } },
      steps: [
        { load: { operations: filled, arrivals: '1s', lifetimes: '9000d', spread: 'even' } },
        { load: { operations: CHURN, arrivals: '100ms', lifetimes: '10s' } },
      ],
    }));
    const failed = (/** @type {number} */ count) => {
      const begun = performance.now();
      const { frames } = one.run(count, Infinity);
      const seconds = (performance.now() - begun) / 1000;
      context.diagnostic(`${frames.length} operations: ${Math.round(frames.length / seconds)} a second`);
      return frames.filter(({ status }) => status !== 0).length;
    };
    assert.equal(failed(filled), 0);
    failed(CHURN);
    assert.equal(one.summary().operations, filled + CHURN);
  });
}

measure('a small pool', { subnet: '10.1.0.0/24' }, 100);
measure('65,533 addresses, all of them reserved', { subnet: '10.1.0.0/16' }, ALL);
measure('at random', { subnet: '10.1.0.0/16', strategy: 'random' }, 50_000);
measure('with all that is remembered', {
  subnet: '10.1.0.0/16', sticky: true, cooldown: { seconds: 10, whenFull: 'use' },
}, 40_000);
measure('IPv6', { subnet: 'fd00::/64', sticky: true, cooldown: true }, 20_000);
