// Light or dark: as the system has it, unless somebody chooses.

import { byId } from './dom.js';

const KEY = 'wipam-theme';
/** @type {Record<string, {next: string, text: string}>} */
const CHOICES = {
  system: { next: 'light', text: 'Theme: system' },
  light: { next: 'dark', text: 'Theme: light' },
  dark: { next: 'system', text: 'Theme: dark' },
};

/** @param {() => void} changed */
export function makeTheme(changed) {
  const button = byId('theme', HTMLButtonElement);
  /** @param {string} choice */
  const apply = (choice) => {
    document.documentElement.dataset.theme = choice;
    button.textContent = CHOICES[choice].text;
    changed();
  };
  button.addEventListener('click', () => {
    const { next } = CHOICES[document.documentElement.dataset.theme ?? 'system'] ?? CHOICES.system;
    remember(next);
    apply(next);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
  apply(remembered());
}

function remembered() {
  try {
    const choice = localStorage.getItem(KEY) ?? 'system';
    return Object.hasOwn(CHOICES, choice) ? choice : 'system';
  } catch {
    // Pages may be denied storage.
    return 'system';
  }
}

/** @param {string} choice */
function remember(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // It lasts until the page is closed, then.
  }
}
