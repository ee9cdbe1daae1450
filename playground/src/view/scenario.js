// The document that is saved, shared and given to the simulator. The engine
// checks it; here it is only put together.

/** @typedef {import('./types.js').Scenario} Scenario */
/** @typedef {import('./types.js').Step} Step */

/** The page holds every operation in memory. */
export const MOST_OPERATIONS = 200_000;

/** Steps that are one operation each; the others are none, or many. */
const SINGLE = ['add', 'del', 'check', 'gc', 'status', 'reboot'];

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The text that a scenario's `network` stands for.
 * @param {any} network
 * @returns {string}
 */
export function networkText(network) {
  return typeof network === 'string' ? network : JSON.stringify(network ?? {}, null, 2);
}

/**
 * How a text is saved: as an object if that stands for the same text.
 * @param {string} text
 * @returns {any}
 */
export function networkValue(text) {
  try {
    const value = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && JSON.stringify(value, null, 2) === text ? value : text;
  } catch {
    return text;
  }
}

/**
 * @param {Step} step
 * @returns {number}
 */
export function operationsOf(step) {
  if (Object.hasOwn(step, 'load')) {
    const count = step.load?.operations;
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  }
  return SINGLE.some((name) => Object.hasOwn(step, name)) ? 1 : 0;
}

/** @param {Scenario} scenario */
export function totalOf(scenario) {
  return stepsOf(scenario).reduce((sum, step) => sum + operationsOf(step), 0);
}

/**
 * The scenario as if it ended behind so many operations. A load that was under
 * way ends there. What stands behind the last operation stays, unless something
 * that was not done comes behind it.
 * @param {Scenario} scenario
 * @param {number} done
 * @returns {Scenario}
 */
export function cut(scenario, done) {
  const steps = stepsOf(scenario);
  if (done >= totalOf(scenario)) {
    return { ...scenario, steps: [...steps] };
  }
  /** @type {Step[]} */
  const kept = [];
  let left = done;
  let solid = 0;
  for (const step of steps) {
    const count = operationsOf(step);
    if (count > left) {
      if (left > 0) {
        kept.push({ load: { ...step.load, operations: left } });
        solid = kept.length;
      }
      break;
    }
    kept.push(step);
    left -= count;
    solid = count > 0 ? kept.length : solid;
  }
  return { ...scenario, steps: kept.slice(0, solid) };
}

/**
 * The network configuration behind the last step.
 * @param {Scenario} scenario
 */
export function lastNetwork(scenario) {
  const step = stepsOf(scenario).findLast((each) => Object.hasOwn(each, 'network'));
  return networkText(step ? step.network : scenario.network);
}

/**
 * How long is waited behind the last operation, in milliseconds.
 * @param {Scenario} scenario
 */
export function pendingWait(scenario) {
  let sum = 0;
  for (const step of stepsOf(scenario).toReversed()) {
    if (operationsOf(step) > 0) break;
    sum += Object.hasOwn(step, 'wait') ? durationOf(step.wait) ?? 0 : 0;
  }
  return sum;
}

/**
 * @param {any} text a whole number and ms, s, m, h or d
 * @returns {number | undefined} milliseconds
 */
export function durationOf(text) {
  const parts = /^(\d{1,15})(ms|s|m|h|d)$/.exec(String(text));
  return parts ? Number(parts[1]) * UNITS[/** @type {keyof UNITS} */ (parts[2])] : undefined;
}

/**
 * Reads a document. Whether it is a scenario is for the engine to say.
 * @param {string} text
 * @returns {Scenario}
 */
export function readScenario(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`this is no scenario: ${/** @type {Error} */ (error).message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('this is no scenario: it should be a JSON object');
  }
  return value;
}

/**
 * Steps that are no objects are left to the engine to refuse.
 * @param {Scenario} scenario
 * @returns {Step[]}
 */
function stepsOf(scenario) {
  const steps = Array.isArray(scenario.steps) ? scenario.steps : [];
  return steps.map((step) => (typeof step === 'object' && step !== null ? step : {}));
}
