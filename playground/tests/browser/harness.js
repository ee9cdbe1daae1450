// A browser, the site, and what no page of it may do.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';

import { chromium } from 'playwright-core';

import { serve } from '../../serve.mjs';

/** The root of the checkout. */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SITE = join(ROOT, 'dist/playground');
/** What the page is compared with; another build of it can be named. */
export const WIPAM = process.env.WIPAM ?? join(ROOT, 'dist/bin/wipam');
const SCREENSHOTS = join(ROOT, 'dist/playground-screenshots');

/** How long something may take before it counts as never. Nothing fails because it is slow. */
export const AT_MOST = 60_000;

/**
 * Nothing but the page is to be heard of: no updates, no accounts. The
 * sandbox and the graphics processor are not to be had where tests run.
 */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * @typedef {import('playwright-core').Page} Page
 * @typedef {import('playwright-core').BrowserContextOptions} ContextOptions
 * @typedef {import('node:test').TestContext} TestContext
 */

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Map<string, Awaited<ReturnType<typeof serve>>>} */
const servers = new Map();

/** Call it once in a file of tests. */
export function withBrowser() {
  before(async () => {
    assert.ok(existsSync(join(SITE, 'index.html')), `${SITE} is missing: build.mjs makes it`);
    // A fresh profile each time, since none is named.
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
  });
  after(async () => {
    await browser?.close();
    await Promise.all([...servers.values()].map((server) => server.close()));
  });
}

/**
 * Where the site is, below a path.
 * @param {string} [under]
 */
export async function site(under = '/') {
  const server = servers.get(under) ?? (await serve({ root: SITE, under }));
  servers.set(under, server);
  return server.url;
}

/**
 * Opens a page in a window of its own. The test fails if anything on it goes
 * wrong unseen, or asks another host for something.
 * @param {TestContext} t
 * @param {string} url
 * @param {ContextOptions} [options]
 * @returns {Promise<Page>}
 */
export async function visit(t, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    ...options,
  });
  /** @type {string[]} */
  const faults = [];
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      faults.push(`console: ${message.text()} (${message.location().url})`);
    }
  });
  context.on('weberror', (error) => faults.push(`uncaught: ${error.error().stack}`));
  context.on('request', (request) => {
    const asked = new URL(request.url());
    if (/^(https?|wss?):$/.test(asked.protocol) && asked.host !== new URL(url).host) {
      faults.push(`another host: ${request.url()}`);
    }
  });
  context.on('response', (response) => {
    if (response.status() >= 400) {
      faults.push(`${response.status()}: ${response.url()}`);
    }
  });
  const page = await context.newPage();
  page.setDefaultTimeout(AT_MOST);
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, [], 'the page went wrong');
  });
  await page.goto(url);
  return page;
}

/**
 * Keeps a picture, for people to look at.
 * @param {Page} page
 * @param {string} name
 * @param {boolean} [fullPage]
 */
export async function screenshot(page, name, fullPage = false) {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage });
}
