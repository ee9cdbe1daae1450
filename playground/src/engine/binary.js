// WebAssembly in binary form, as far as it has to be read before it is run:
// sections, and numbers in LEB128.

/** Reads bytes one after the other; throws where there are no more. */
export class Reader {
  #bytes;
  #at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
  }

  get isAtEnd() {
    return this.#at >= this.#bytes.length;
  }

  byte() {
    return this.take(1)[0];
  }

  /** @param {number} count */
  take(count) {
    const end = this.#at + count;
    if (end > this.#bytes.length) {
      throw new Error('unexpected end');
    }
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** An unsigned number of at most 64 bits: of most of them, no more than 53 matter. */
  number() {
    let number = 0;
    let scale = 1;
    for (let count = 0; count < 10; count++) {
      const byte = this.byte();
      number += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        return number;
      }
      scale *= 128;
    }
    throw new Error('a number without end');
  }

  /** Bytes that come after their count. */
  counted() {
    return this.take(this.number());
  }

  text() {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.counted());
  }

  /**
   * Things that come after their count.
   * @template T
   * @param {() => T} thing
   * @returns {T[]}
   */
  list(thing) {
    const count = this.number();
    const things = [];
    for (let n = 0; n < count; n++) {
      things.push(thing());
    }
    return things;
  }
}

/**
 * Writes an unsigned number.
 * @param {number} number
 */
export function leb128(number) {
  const bytes = [];
  let rest = number;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** Length of the magic word, version and layer. */
export const PREAMBLE = 8;

/**
 * The sections of a module or component: their kinds and contents.
 * @param {Uint8Array} bytes
 * @returns {Generator<{kind: number, content: Uint8Array}, void, void>}
 */
export function* sections(bytes) {
  const reader = new Reader(bytes);
  reader.take(PREAMBLE);
  while (!reader.isAtEnd) {
    yield { kind: reader.byte(), content: reader.counted() };
  }
}

/**
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function join(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
