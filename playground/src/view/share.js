// A text in an address: deflated, then in base64 without what addresses escape.

/** What comes before it in the fragment. */
const MARK = '#s=';

/** Chat and mail programs begin to cut addresses. */
export const LONG = 8_000;
/** Browsers begin to refuse them. */
export const TOO_LONG = 100_000;
/** A short address may inflate to anything. */
const MOST_TEXT = 16 * 1024 * 1024;

/**
 * @param {string} text
 * @returns {Promise<string>} the fragment
 */
export async function toFragment(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return MARK + toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * @param {string} fragment
 * @returns {Promise<string | undefined>} nothing where there is no text in it
 */
export async function fromFragment(fragment) {
  if (!fragment.startsWith(MARK)) {
    return undefined;
  }
  const text = fragment.slice(MARK.length).replaceAll('-', '+').replaceAll('_', '/');
  try {
    const packed = fromBase64(text);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return await readAtMost(stream, MOST_TEXT);
  } catch (error) {
    throw new Error(`the address holds no scenario that can be read: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} most
 */
async function readAtMost(stream, most) {
  const reader = stream.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let size = 0;
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return text + decoder.decode();
    }
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`it is longer than ${most} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** @param {Uint8Array} bytes */
export function toBase64(bytes) {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
}

/** @param {string} text */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
