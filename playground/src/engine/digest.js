// Digests of policies.

import { toHex } from './policy-state.js';

/**
 * SHA-256 in lower case digits; nothing where the browser does not offer it:
 * to pages that came over plain http from another host than this one. Such a
 * page is told so, and goes on without: digests there show what one has, and
 * protect from nobody who could change the page itself.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<string | undefined>}
 */
export async function sha256(bytes) {
  const digest = await globalThis.crypto?.subtle?.digest('SHA-256', bytes);
  return digest && toHex(new Uint8Array(digest));
}
