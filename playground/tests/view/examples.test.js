import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { EXAMPLES, FIRST } from '../../src/view/examples.js';
import { MOST_OPERATIONS, networkText, networkValue, readScenario, totalOf } from '../../src/view/scenario.js';

const FOLDER = new URL('../../src/examples/', import.meta.url);

test('the menu lists every example, and no other', () => {
  const listed = EXAMPLES.flatMap(({ examples }) => examples.map(([id]) => `${id}.json`));
  assert.deepEqual([...listed].sort(), readdirSync(FOLDER).sort());
  assert.ok(listed.includes(`${FIRST}.json`));
});

for (const name of readdirSync(FOLDER)) {
  test(`${name} is a scenario that the page can carry out`, () => {
    const scenario = readScenario(readFileSync(new URL(name, FOLDER), 'utf8'));
    assert.equal(scenario.wipam, 'scenario/1');
    assert.ok(scenario.title && scenario.about);
    assert.ok(totalOf(scenario) > 0 && totalOf(scenario) <= MOST_OPERATIONS);
    assert.deepEqual(networkValue(networkText(scenario.network)), scenario.network);
  });
}
