// SPDX-License-Identifier: Apache-2.0
// The thread that breaks a loop. A signal reaches JavaScript only through an event loop, and that of the main thread stands still
// while the guest computes; this thread has its own. Where the main thread does not answer a signal soon, what it runs is ended.

import {Session} from 'node:inspector';
import {workerData} from 'node:worker_threads';
import {Signal} from './internals.mjs';
import {milliseconds} from './monotonic.mjs';

const GRACE_MS = 50;
const RECENT_MS = 200;
const RECOVERY_MS = 1000;

// How many signals the main thread has answered, and when it did last.
const handled = workerData;
const {load, wait} = Atomics;

/** Whether the main thread answers within this time. */
const answered = (since, milliseconds) => wait(handled, 0, since, milliseconds) !== 'timed-out';

/** Both threads are told of a signal, in no order: on a busy machine, this one may be told when it is answered already. */
const wasAnswered = () => load(handled, 0) !== 0 && ((milliseconds() - load(handled, 1)) | 0) < RECENT_MS;

function terminateMain(since) {
  // Connected only for this: a session that is open keeps the process from ending.
  const session = new Session();
  session.connectToMainThread();
  // That takes a while, and what would be ended now is the next thing that runs.
  if (load(handled, 0) !== since) session.disconnect();
  else session.post('Runtime.terminateExecution', () => session.disconnect());
}

const signal = new Signal();
signal.onsignal = () => {
  const since = load(handled, 0);
  if (wasAnswered() || answered(since, GRACE_MS)) return;
  terminateMain(since);
  // What was ended may have been the very answer. Then the signal is sent again.
  setTimeout(() => {
    if (load(handled, 0) === since) process.kill(process.pid, 'SIGINT');
  }, RECOVERY_MS);
};
signal.start(2);
