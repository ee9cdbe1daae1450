// What a policy says, within bounds.

/** Most lines that are kept of one decision. */
const MOST_LINES = 100;

/** Most bytes of a text that are kept. */
const LONGEST = 1024;

/** Lines of one decision. */
export class PolicyLog {
  /** @type {string[]} */
  #lines = [];
  #dropped = 0;

  /** @param {string} message */
  write(message) {
    if (this.#lines.length < MOST_LINES) {
      this.#lines.push(oneLine(message));
    } else {
      this.#dropped += 1;
    }
  }

  /** @returns {string[]} */
  lines() {
    return this.#dropped === 0
      ? this.#lines
      : [...this.#lines, `${this.#dropped} more lines, beyond ${MOST_LINES}, are dropped`];
  }
}

const encoder = new TextEncoder();

/**
 * A text of a policy as people may see it: short, and in one line, so that
 * none of it can pass for a line of somebody else's.
 * @param {string} text
 */
export function oneLine(text) {
  return shortened(text).replace(/\p{Cc}/gu, ' ');
}

/** @param {string} text */
function shortened(text) {
  // What is behind that many units of UTF-16 is behind as many bytes, too.
  const bytes = encoder.encode(text.slice(0, LONGEST + 1));
  if (bytes.length <= LONGEST) {
    return text;
  }
  let end = LONGEST;
  while ((bytes[end] & 0xc0) === 0x80) {
    end -= 1;
  }
  return `${new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, end))} ...`;
}
