// The scenarios that come with the page, in the order of the menu.

/** @type {{group: string, examples: [string, string][]}[]} */
export const EXAMPLES = [
  {
    group: 'First steps',
    examples: [
      ['single-subnet', 'A single subnet'],
      ['ranges-in-a-set', 'Several ranges in a set'],
      ['dual-stack', 'IPv4 and IPv6'],
      ['requests', 'Addresses by name'],
      ['full-pool', 'A pool that is full'],
      ['point-to-point', 'A /31'],
      ['huge-ipv6', 'A huge IPv6 prefix'],
    ],
  },
  {
    group: 'Choosing',
    examples: [
      ['exclude-static', 'Excluded and static addresses'],
      ['sticky', 'Pods that come back'],
      ['cooldown', 'Addresses that cool'],
      ['random', 'Random addresses'],
      ['zones', 'A policy: zones'],
      ['quota', 'A policy: quotas'],
    ],
  },
  {
    group: 'Much at once',
    examples: [
      ['crash-loops', 'Crash loops'],
      ['crash-loops-cooldown', 'Crash loops, with cooldown'],
      ['reboot', 'A reboot, lost DELs and GC'],
      ['full-16', 'A full /16 (65,600 operations)'],
    ],
  },
  {
    group: 'Broken',
    examples: [
      ['broken-json', 'No JSON'],
      ['broken-host-bits', 'Host bits are set'],
      ['broken-range', 'A range outside of its subnet'],
      ['broken-gateway', 'A gateway that nobody reaches'],
      ['broken-overlap', 'Sets that overlap'],
      ['broken-slip', 'A slip in a name'],
    ],
  },
];

/** What is opened when the address names nothing. */
export const FIRST = 'single-subnet';
