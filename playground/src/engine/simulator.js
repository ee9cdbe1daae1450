// The simulator: what happens to the network, and what came of it. See
// simulator/wit/simulator.wit, whose words these are.

/** @typedef {import('./plugin.js').Component} Component */

/**
 * @typedef {object} Invocation
 * @property {string} command
 * @property {string} containerId
 * @property {string} interfaceName
 * @property {string} netns
 * @property {string} args
 * @property {string} path
 * @property {string} config
 */

/**
 * @typedef {object} Operation
 * @property {number} number
 * @property {bigint} ms
 * @property {bigint} timeMs
 * @property {bigint} seed
 * @property {{tag: 'invoke', val: Invocation} | {tag: 'reboot'}} task
 * @property {string} network
 */

/**
 * @typedef {object} SimulatedOutcome
 * @property {{tag: 'ok' | 'err', val: string}} answer
 * @property {string[]} warnings
 * @property {string[]} reserved
 * @property {string[]} released
 */

/**
 * A policy that comes with a scenario.
 * @typedef {object} Supplied
 * @property {string} path
 * @property {{tag: 'file', val: string} | {tag: 'bytes', val: Uint8Array<ArrayBuffer>}} source
 * @property {string} [sha256]
 */

/**
 * @typedef {object} Scenario
 * @property {() => Supplied[]} components
 * @property {() => [string, string][]} files
 * @property {() => bigint} startMs
 * @property {(step: string) => void} append
 * @property {() => Operation | undefined} next
 * @property {(outcome: SimulatedOutcome) => string} answered
 * @property {() => string} summary
 * @property {() => string} series
 * @property {() => string} picture
 */

/**
 * @typedef {object} Simulation
 * @property {{open: (text: string) => Scenario}} Scenario
 * @property {(config: string) => string} layout
 */

/**
 * A fresh instance.
 * @param {Component} component
 * @returns {Simulation}
 */
export function simulation({ instantiate, getCoreModule }) {
  return instantiate(getCoreModule, {}).simulation;
}

/**
 * Calls a function of it whose error is a text for people.
 * @template T
 * @param {() => T} call
 * @returns {{ok: T, error?: undefined} | {ok?: undefined, error: string}}
 */
export function attempt(call) {
  try {
    return { ok: call() };
  } catch (/** @type {any} */ error) {
    // jco throws the `err` of a result with this property.
    if (!Object.hasOwn(error, 'payload')) {
      throw error;
    }
    return { error: error.payload };
  }
}

/**
 * The same, where a text for people is an error like others.
 * @template T
 * @param {() => T} call
 * @returns {T}
 */
export function insist(call) {
  const { ok, error } = attempt(call);
  if (error !== undefined) {
    throw new Error(error);
  }
  return /** @type {T} */ (ok);
}
