// Puts the page together.

import { Client, Overrun } from './client.js';
import { Details } from './details.js';
import { announce, byId, el } from './dom.js';
import { Editor } from './editor.js';
import { EXAMPLES, FIRST } from './examples.js';
import { Exchange } from './exchange.js';
import { MapView } from './map-view.js';
import { numberOf } from './numbers.js';
import { forgetAddress, Opening } from './opening.js';
import { Operations } from './operations.js';
import { Player } from './player.js';
import { Progress } from './progress.js';
import { readScenario } from './scenario.js';
import { makeTabs } from './tabs.js';
import { makeTheme } from './theme.js';
import { Timeline } from './timeline.js';
import { factsOf } from './words.js';

const client = new Client(new URL('../engine/worker.js', import.meta.url));
const player = new Player(client);
const editor = new Editor(player);
const details = new Details(player);
const map = new MapView(player, editor, details);
new Timeline(player);
new Exchange(player);
new Operations(player, editor, attempt);
new Progress(player, attempt);

// Loaded when they are asked for.
const load = once(async () => new (await import('./load-form.js')).LoadForm(player, editor, attempt));
const policies = once(async () => new (await import('./policies.js')).Policies(player, editor, attempt));
const table = once(async () => new (await import('./table.js')).Table(player, editor, map));
const charts = once(async () => new (await import('./charts.js')).Charts(player));
const sharing = once(async () => new (await import('./sharing.js')).Sharing(player, attempt));
const opening = new Opening(player, editor, policies, attempt);

/**
 * @template T
 * @param {() => Promise<T>} make
 * @returns {() => Promise<T>}
 */
function once(make) {
  /** @type {Promise<T> | undefined} */
  let made;
  return () => {
    made ??= make().catch((error) => {
      // Whoever comes again tries again.
      made = undefined;
      throw error;
    });
    return made;
  };
}

// ------------------------------------------------------------------- problems

const problem = byId('problem', HTMLElement);
const problemText = byId('problem-text', HTMLElement);
byId('problem-close', HTMLButtonElement).addEventListener('click', () => { problem.hidden = true; });

/** @param {string} text */
function complain(text) {
  problemText.textContent = text;
  problem.hidden = false;
}

/** @param {unknown} error */
function complainOf(error) {
  complain(error instanceof Overrun && error.path === undefined
    ? `A policy could not be loaded: ${error.message}.`
    : error instanceof Error ? error.message : String(error));
}

/**
 * Does what somebody asked for, and says what went wrong.
 * @param {() => Promise<void>} work
 */
function attempt(work) {
  problem.hidden = true;
  work().catch(complainOf);
}

player.addEventListener('ended-policy', (event) => {
  const { path, why, number } = /** @type {CustomEvent} */ (event).detail;
  complain(`Policy ${path} ${why} in operation ${number}. It fails from there on; the tab "Policy" lets it try again, or have more time.`);
});

// ------------------------------------------------------------------- scenario

const examples = byId('example', HTMLSelectElement);
for (const { group, examples: all } of EXAMPLES) {
  examples.append(el('optgroup', { label: group }, ...all.map(([id, title]) => el('option', { value: id }, title))));
}
examples.addEventListener('change', () => {
  if (examples.value !== '') attempt(() => openExample(examples.value));
});

/** @param {string} id */
async function openExample(id) {
  const response = await fetch(new URL(`../examples/${id}.json`, import.meta.url));
  if (!response.ok) throw new Error(`the example could not be fetched: ${response.status}`);
  const scenario = readScenario(await response.text());
  forgetAddress();
  await player.open(scenario);
  examples.value = id;
}

player.addEventListener('opened', () => {
  const { title, about } = player.scenario;
  examples.value = '';
  byId('title', HTMLElement).textContent = typeof title === 'string' ? title : 'Untitled scenario';
  document.title = `${byId('title', HTMLElement).textContent} - wipam playground`;
  const text = byId('about-scenario', HTMLElement);
  text.textContent = typeof about === 'string' ? about : '';
  text.hidden = text.textContent === '';
  if (player.notices.length > 0) complain(player.notices.join(' '));
  announce(`Opened: ${byId('title', HTMLElement).textContent}`);
});
player.addEventListener('busy', () => {
  const isBusy = player.busy !== '';
  examples.disabled = isBusy;
  for (const id of ['open', 'share']) byId(id, HTMLButtonElement).disabled = isBusy;
  document.body.classList.toggle('busy', isBusy);
});

// ---------------------------------------------------------------- around that

makeTabs(byId('setup-tabs', HTMLElement), {
  'panel-load': () => load().catch(complainOf),
  'panel-policy': () => policies().catch(complainOf),
});
makeTabs(byId('pool-tabs', HTMLElement), {
  'panel-table': () => table().catch(complainOf),
  'panel-charts': () => charts().catch(complainOf),
}, (panel) => {
  if (panel === 'panel-table') void table().then((made) => made.show());
  if (panel === 'panel-charts') void charts().then((made) => made.show());
});
makeTheme(() => map.recolour());
byId('share', HTMLButtonElement).addEventListener('click', () => attempt(async () => (await sharing()).show()));
const limits = byId('limits-dialog', HTMLDialogElement);
byId('limits', HTMLButtonElement).addEventListener('click', () => limits.showModal());
byId('limits-close', HTMLButtonElement).addEventListener('click', () => limits.close());

/** For tests, and for whoever looks behind the page. Changes nothing. */
const view = {
  get frames() { return player.model.frames; },
  get position() { return player.model.position; },
  get busy() { return player.busy; },
  get ended() { return player.isEnded; },
  get redraws() { return map.redraws; },
  get workers() { return client.workers; },
  get block() { return map.block; },
  /** @param {string} address */
  state(address) {
    const { pool } = editor;
    const known = numberOf(address);
    const range = pool?.ranges.find(({ family, block }) => family === known?.family
      && known.number >> BigInt(block.bits) === block.first >> BigInt(block.bits));
    return pool && known && range
      ? factsOf(pool, range, known.number, address, player.model, player.waitMs)
      : undefined;
  },
  scenario: () => JSON.parse(JSON.stringify(player.shown)),
};
Object.defineProperty(globalThis, 'wipam', { value: Object.freeze(view) });

attempt(async () => {
  if (!(await opening.openAddress())) await openExample(FIRST);
});
