// Shapes that the page shares with the engine, and between its own modules.

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
 * @typedef {object} Change
 * @property {string} key
 * @property {any} [before]
 * @property {any} [after]
 */

/**
 * The state before the first operation.
 * @typedef {object} Start
 * @property {string} directory of the network
 * @property {[string, any][]} entries
 * @property {number} now milliseconds since 1970
 * @property {string[]} [notices] what people should know
 */

/**
 * A scenario, as it is saved.
 * @typedef {object} Scenario
 * @property {string} wipam
 * @property {string} [title]
 * @property {string} [about]
 * @property {number} [seed]
 * @property {number} [start]
 * @property {string} [pace]
 * @property {any} [network]
 * @property {Record<string, Component>} [components]
 * @property {Record<string, string>} [files]
 * @property {Step[]} [steps]
 */

/** @typedef {{file?: string, wasm?: string, sha256?: string}} Component */
/** @typedef {Record<string, any>} Step one key: what is done */

/** @typedef {{first: string, last: string}} SpanText */

/**
 * What the component says of a configuration's pool.
 * @typedef {object} Layout
 * @property {string} network
 * @property {string} directory
 * @property {{size: string, ranges: LayoutRange[]}[]} sets
 * @property {string[]} gateways
 * @property {string[]} barred
 * @property {SpanText[]} exclude
 * @property {SpanText[]} static
 * @property {string} strategy
 * @property {number} cooldownMs
 * @property {string} whenFull
 * @property {number} keepMs
 * @property {string | null} policy
 */

/** @typedef {{subnet: string, first: string, last: string, gateway: string | null, size: string}} LayoutRange */

/** @typedef {{ok: any, error?: undefined} | {ok?: undefined, error: string}} Reply */

/**
 * @typedef {object} Summary
 * @property {number} operations
 * @property {number} ms
 * @property {{command: string, done: number, failed: number}[]} commands
 * @property {{code: number, count: number, first: number, message: string}[]} errors
 * @property {{pool: string, reserved: number, stale: number, most: number, given: number, distinct: number}} addresses
 * @property {{count: number, least?: {ms: number, given: number} | null, histogram: {upTo: number, count: number}[]}} reuse
 */

/**
 * Samples: operation, ms, reserved, stale, failures and given, the last two
 * added up.
 * @typedef {{every: number, samples: number[][]}} Series
 */

export {};
