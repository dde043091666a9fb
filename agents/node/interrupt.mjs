// SPDX-License-Identifier: Apache-2.0
// SIGINT: ends what runs, be it a loop that never gives way or an `await` that never ends.

import {Worker} from 'node:worker_threads';
import {Signal, allowBrokenCallbacks} from './internals.mjs';
import {milliseconds} from './monotonic.mjs';
import {Atomics, Int32Array, SharedArrayBuffer, URL} from './primordials.mjs';

const SIGINT = 2;
const {add, notify, store} = Atomics;

export class Interrupts {
  #handled = new Int32Array(new SharedArrayBuffer(8));
  #signal = new Signal();

  /** @param onInterrupt called from the event loop, after whatever blocked it has been ended. */
  constructor(onInterrupt) {
    allowBrokenCallbacks();
    this.#signal.unref();
    this.#signal.onsignal = () => {
      store(this.#handled, 1, milliseconds());
      add(this.#handled, 0, 1);
      notify(this.#handled, 0);
      onInterrupt();
    };
    this.#signal.start(SIGINT);
  }

  /** Starts the thread that breaks loops; it costs memory, which a context that waits unused need not pay. */
  watch() {
    const watcher = new Worker(new URL('interrupt_watcher.mjs', import.meta.url), {
      workerData: this.#handled,
      resourceLimits: {maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32},
      execArgv: ['--expose-internals'],
      env: {},
    });
    watcher.unref();
    watcher.on('error', () => {});
  }
}
