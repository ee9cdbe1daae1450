// The worker with the component in it, as promises. A worker that does not come
// back in time is ended: nothing else stops WebAssembly that runs for too long.

/** The worker was ended, and another one is there that knows of nothing. */
export class Overrun extends Error {
  /**
   * @param {string | undefined} path of the policy that was being asked
   * @param {number} limitMs
   * @param {number} asked how many operations had asked a policy, and got an
   *   answer, since the call began
   */
  constructor(path, limitMs, asked) {
    super(path === undefined
      ? `this took more than ${limitMs} ms and was ended`
      : `policy ${path} was ended after ${limitMs} ms`);
    this.path = path;
    this.limitMs = limitMs;
    this.asked = asked;
  }
}

/**
 * @typedef {object} Waiting
 * @property {(value: any) => void} resolve
 * @property {(reason: Error) => void} reject
 * @property {{id: number, call: string, args: any[]}} message
 */

export class Client {
  /** For how long a policy may be asked in one operation, in milliseconds. */
  limitMs = 1000;
  /** How many workers there were. */
  workers = 0;

  /** @type {Worker} */
  #worker;
  #script;
  #url;
  /** Whether this worker ever answered. */
  #isAlive = false;
  /** Why no worker can be had. @type {Error | undefined} */
  #broken;
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #next = 1;
  /** Operations that asked a policy, and had an answer, since the last `run`. */
  asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {URL} script the worker's module */
  constructor(script) {
    this.#script = script.href;
    this.#url = inheriting(script.href);
    this.#worker = this.#begin();
  }

  /**
   * @param {string} name
   * @param {any[]} args
   * @returns {Promise<any>}
   */
  call(name, ...args) {
    const id = this.#next;
    this.#next += 1;
    if (name === 'run') {
      this.asked = 0;
    }
    return new Promise((resolve, reject) => {
      if (this.#broken) {
        reject(this.#broken);
        return;
      }
      const message = { id, call: name, args };
      this.#waiting.set(id, { resolve, reject, message });
      this.#worker.postMessage(message);
    });
  }

  /**
   * The same, for calls in which a policy is loaded.
   * @param {number} limitMs
   * @param {string} name
   * @param {any[]} args
   * @returns {Promise<any>}
   */
  async callWithin(limitMs, name, ...args) {
    const timer = setTimeout(() => this.#end(undefined, limitMs), limitMs);
    try {
      return await this.call(name, ...args);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Another worker, for a policy that is to be tried again. */
  restart() {
    this.#end(undefined, 0);
  }

  #begin() {
    this.workers += 1;
    this.#isAlive = false;
    const worker = new Worker(this.#url, { type: 'module', name: 'wipam' });
    worker.addEventListener('message', ({ data }) => {
      if (worker === this.#worker) this.#receive(data);
    });
    worker.addEventListener('error', (event) => {
      if (worker === this.#worker) {
        event.preventDefault();
        this.#failed(event.message);
      }
    });
    return worker;
  }

  /** @param {string | undefined} message */
  #failed(message) {
    if (!this.#isAlive && this.#url !== this.#script) {
      // A browser that starts no modules from blobs.
      this.#url = this.#script;
      this.#worker.terminate();
      this.#worker = this.#begin();
      for (const waiting of this.#waiting.values()) this.#worker.postMessage(waiting.message);
      return;
    }
    const reason = new Error(`the component's worker failed: ${message ?? 'it could not be loaded'}`);
    if (!this.#isAlive) this.#broken = reason;
    this.#fail(reason);
  }

  /** @param {any} data */
  #receive(data) {
    this.#isAlive = true;
    if (data.event === 'asking') {
      clearTimeout(this.#timer);
      const { path } = data;
      const limit = this.limitMs;
      this.#timer = setTimeout(() => this.#end(path, limit), limit);
      return;
    }
    if (data.event === 'asked') {
      clearTimeout(this.#timer);
      this.asked += 1;
      return;
    }
    const waiting = this.#waiting.get(data.id);
    this.#waiting.delete(data.id);
    if (data.error === undefined) waiting?.resolve(data.result);
    else waiting?.reject(new Error(data.error));
  }

  /**
   * @param {string | undefined} path
   * @param {number} limitMs
   */
  #end(path, limitMs) {
    clearTimeout(this.#timer);
    this.#worker.terminate();
    this.#worker = this.#begin();
    this.#fail(new Overrun(path, limitMs, this.asked));
  }

  /** @param {Error} reason */
  #fail(reason) {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of all) reject(reason);
  }
}

/**
 * The address to start a worker's module from. A worker made from a blob inherits the
 * page's content security policy, where one made from a file has none of its
 * own on servers that send no headers.
 * @param {string} script
 */
function inheriting(script) {
  const source = `import ${JSON.stringify(script)};`;
  return URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
}
