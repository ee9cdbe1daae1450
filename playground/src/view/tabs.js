// Tabs, as the ARIA practices have them: arrows choose, Tab goes on.

/**
 * @param {HTMLElement} list whose buttons name their panels in aria-controls
 * @param {Record<string, () => Promise<unknown>>} prepare by panel, what has to
 *   be there before it is shown
 * @param {(panel: string) => void} [shown]
 */
export function makeTabs(list, prepare, shown = () => {}) {
  const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[role=tab]')]);
  let chosen = tabs[0];
  /** @param {HTMLElement} tab */
  const choose = async (tab) => {
    chosen = tab;
    for (const each of tabs) {
      each.setAttribute('aria-selected', String(each === tab));
      each.tabIndex = each === tab ? 0 : -1;
    }
    await prepare[panelOf(tab)]?.();
    // Somebody may have gone on meanwhile.
    if (chosen !== tab) return;
    for (const each of tabs) {
      const panel = document.getElementById(panelOf(each));
      if (panel) panel.hidden = each !== tab;
    }
    shown(panelOf(tab));
  };
  for (const tab of tabs) tab.addEventListener('click', () => void choose(tab));
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 };
    const to = moves[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const tab = tabs[(to + tabs.length) % tabs.length];
    void choose(tab);
    tab.focus();
  });
}

/** @param {HTMLElement} tab */
function panelOf(tab) {
  return tab.getAttribute('aria-controls') ?? '';
}
