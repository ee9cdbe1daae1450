// Scales and paths of charts. Pure.

/**
 * Round numbers from 0 on that cover up to `most`.
 * @param {number} most
 * @param {number} [count] how many are wanted, about
 * @returns {number[]}
 */
export function ticks(most, count = 4) {
  if (!(most > 0)) return [0, 1];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const whole = most >= 1 ? Math.max(1, step) : step;
  const all = [];
  for (let n = 0; all.length === 0 || all[all.length - 1] < most; n += 1) all.push(n * whole);
  return all;
}

/** Steps in which people count time, in milliseconds. */
const TIMES = [
  1, 10, 100, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000,
  7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 2_592_000_000,
];

/**
 * The same for milliseconds, at what clocks show.
 * @param {number} most
 * @param {number} [count]
 */
export function timeTicks(most, count = 5) {
  const step = TIMES.find((each) => each * count >= most) ?? ticks(most, count)[1];
  const all = [];
  for (let at = 0; at <= most; at += step) all.push(at);
  return all;
}

/**
 * Values that hold until the next one: pools do not change in between.
 * @param {[number, number][]} points in pixels, by x
 */
export function steps(points) {
  return points.map(([x, y], n) => (n === 0 ? `M${round(x)} ${round(y)}` : `H${round(x)}V${round(y)}`)).join('');
}

/**
 * The same, filled down to a line.
 * @param {[number, number][]} points
 * @param {number} bottom
 */
export function area(points, bottom) {
  if (points.length === 0) return '';
  return `${steps(points)}V${round(bottom)}H${round(points[0][0])}Z`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
