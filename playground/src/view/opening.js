// Scenarios, policies and stores that people bring along: in the address, as
// files, or dropped on the page.

import { byId } from './dom.js';
import { networkValue, readScenario } from './scenario.js';
import { fromFragment } from './share.js';

/** A scenario may hold policies; a store is text. */
const LARGEST = 64 * 1024 * 1024;
const LARGEST_RECORD = 4096;
const MOST_RECORDS = 70_000;

export class Opening {
  /**
   * @param {import('./player.js').Player} player
   * @param {import('./editor.js').Editor} editor
   * @param {() => Promise<import('./policies.js').Policies>} policies
   * @param {(work: () => Promise<void>) => void} attempt
   */
  constructor(player, editor, policies, attempt) {
    this.player = player;
    this.editor = editor;
    this.policies = policies;
    this.attempt = attempt;
    const input = byId('open-file', HTMLInputElement);
    input.addEventListener('change', () => {
      const all = [...(input.files ?? [])];
      input.value = '';
      if (all.length > 0) attempt(() => this.take(all));
    });
    byId('open', HTMLButtonElement).addEventListener('click', () => input.click());
    this.#listenToDrops();
    addEventListener('hashchange', () => attempt(() => this.openAddress().then(() => {})));
  }

  /**
   * Opens what the address holds.
   * @returns {Promise<boolean>} whether there was something
   */
  async openAddress() {
    const text = await fromFragment(location.hash);
    if (text === undefined) return false;
    await this.player.open(readScenario(text));
    return true;
  }

  /**
   * Whatever was dropped or chosen: a scenario, a policy, or files of a store.
   * @param {File[]} files
   */
  async take(files) {
    const [file] = files;
    if (files.length === 1 && /\.wasm$/i.test(file.name)) {
      await (await this.policies()).useFile(file);
    } else if (files.length === 1 && /\.json$/i.test(file.name)) {
      if (file.size > LARGEST) throw new Error(`${file.name} is too large: ${file.size} bytes`);
      const scenario = readScenario(await file.text());
      forgetAddress();
      await this.player.open(scenario);
    } else {
      await this.#openStore(files);
    }
  }

  /** @param {File[]} files of a network's directory */
  async #openStore(files) {
    if (files.length > MOST_RECORDS) throw new Error(`a directory of ${files.length} files; at most ${MOST_RECORDS} can be opened`);
    /** @type {Record<string, string>} */
    const store = {};
    for (const file of files) {
      // What is neither a record nor a marker means nothing.
      if (!/^(?:[0-9a-fA-F:.%_]+|last_reserved_ip\.\d+)$/.test(file.name)) continue;
      if (file.size > LARGEST_RECORD) throw new Error(`${file.name} is no record: it has ${file.size} bytes`);
      store[file.name] = await file.text();
    }
    const count = Object.keys(store).length;
    if (count === 0) throw new Error('none of these is a scenario (.json), a policy (.wasm), a record (10.1.0.2) or a marker (last_reserved_ip.0)');
    forgetAddress();
    await this.player.open({
      wipam: 'scenario/1',
      title: 'An opened store',
      about: `${count} files of a network's directory, with the configuration that was in the editor.`,
      network: networkValue(this.editor.text),
      ...(this.player.scenario.components && { components: this.player.scenario.components }),
      files: store,
      steps: [],
    });
  }

  #listenToDrops() {
    const body = document.body;
    let depth = 0;
    /** @param {DragEvent} event */
    const hasFiles = (event) => event.dataTransfer?.types.includes('Files') ?? false;
    body.addEventListener('dragenter', (event) => {
      if (!hasFiles(event)) return;
      depth += 1;
      body.classList.add('dropping');
    });
    body.addEventListener('dragleave', () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) body.classList.remove('dropping');
    });
    body.addEventListener('dragover', (event) => {
      if (hasFiles(event)) event.preventDefault();
    });
    body.addEventListener('drop', (event) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      depth = 0;
      body.classList.remove('dropping');
      const dropped = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
      this.attempt(async () => {
        const files = (await Promise.all(dropped.map(filesOf))).flat();
        if (files.length > 0) await this.take(files);
      });
    });
  }
}

/** The address names another scenario than the one that is open. */
export function forgetAddress() {
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
}

/**
 * The files of something that was dropped; of a directory those in it.
 * @param {FileSystemEntry | File | null} entry
 * @returns {Promise<File[]>}
 */
async function filesOf(entry) {
  if (entry === null) return [];
  if (entry instanceof File) return [entry];
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => {
      /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject);
    });
    return [file];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {File[]} */
  const all = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (some.length === 0 || all.length > MOST_RECORDS) return all;
    all.push(...(await Promise.all(some.filter(({ isFile }) => isFile).map(filesOf))).flat());
  }
}
