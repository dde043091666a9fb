// SPDX-License-Identifier: Apache-2.0
// The thread that breaks a loop. A signal reaches JavaScript only through an event loop, and that of the main thread stands still
// while the guest computes; this thread has its own. Where the main thread does not answer a signal soon, what it runs is ended.

import {Session} from 'node:inspector';
import {workerData} from 'node:worker_threads';
import {Signal} from './internals.mjs';

const GRACE_MS = 50;
const RECOVERY_MS = 1000;

const handled = workerData;
const {load, wait} = Atomics;

/** Whether the main thread answers within this time. */
const answered = (since, milliseconds) => wait(handled, 0, since, milliseconds) !== 'timed-out';

function terminateMain() {
  // Connected only for this: a session that is open keeps the process from ending.
  const session = new Session();
  session.connectToMainThread();
  session.post('Runtime.terminateExecution', () => session.disconnect());
}

const signal = new Signal();
signal.onsignal = () => {
  const since = load(handled, 0);
  if (answered(since, GRACE_MS)) return;
  terminateMain();
  // What was ended may have been the very answer. Then the signal is sent again.
  setTimeout(() => {
    if (load(handled, 0) === since) process.kill(process.pid, 'SIGINT');
  }, RECOVERY_MS);
};
signal.start(2);
