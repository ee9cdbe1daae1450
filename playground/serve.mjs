// node playground/serve.mjs [--port N] [--root DIR] [--under PATH]
//
// Gives out the built playground on 127.0.0.1, and nothing else. Port 0 takes
// any that is free; the address is the first line printed. With `--under` the
// site is below a path, as it would be on a host that serves others too.

import { createServer } from 'node:http';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, extname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
};

/**
 * The file that a request means; undefined where it is outside of the folder.
 * @param {string} root
 * @param {string} under
 * @param {string} url
 */
function fileOf(root, under, url) {
  let path;
  try {
    path = decodeURIComponent(url.replace(/[?#].*$/, ''));
  } catch {
    return undefined;
  }
  if (!path.startsWith(under) || path.includes('\0')) {
    return undefined;
  }
  const file = resolve(root, `.${sep}${path.slice(under.length)}`);
  return file === root || file.startsWith(root + sep) ? file : undefined;
}

/**
 * Starts serving a folder.
 * @param {{root: string, port?: number, under?: string}} what `under` begins and ends with a slash
 * @returns {Promise<{url: string, close: () => Promise<void>}>}
 */
export async function serve({ root, port = 0, under = '/' }) {
  const server = createServer(async (request, response) => {
    const file = fileOf(root, under, request.url ?? '/');
    const found = file === undefined ? undefined : await regular(file);
    if (found === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('not found\n');
      return;
    }
    response.writeHead(200, {
      'content-type': TYPES[extname(found.path)] ?? 'application/octet-stream',
      'content-length': found.size,
      // Whoever builds again wants to see it.
      'cache-control': 'no-cache',
    });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    createReadStream(found.path).on('error', () => response.destroy()).pipe(response);
  });
  await new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => done(undefined));
  });
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}${under}`,
    close() {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
}

/**
 * A file, or the index of a folder.
 * @param {string} path
 * @returns {Promise<{path: string, size: number} | undefined>}
 */
async function regular(path) {
  try {
    const found = await stat(path);
    if (found.isFile()) {
      return { path, size: found.size };
    }
    const index = join(path, 'index.html');
    return { path: index, size: (await stat(index)).size };
  } catch {
    return undefined;
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8080' },
      root: { type: 'string', default: join(ROOT, 'dist/playground') },
      under: { type: 'string', default: '/' },
    },
  });
  const under = `/${values.under}/`.replace(/\/+/g, '/');
  const port = Number(values.port);
  try {
    await stat(join(resolve(values.root), 'index.html'));
    const { url } = await serve({ root: resolve(values.root), port, under });
    console.log(url);
  } catch (error) {
    console.error(`failed: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
