// SPDX-License-Identifier: Apache-2.0
// A clock that all threads of the process share.

import {process} from './primordials.mjs';

const hrtime = process.hrtime.bind(process);

/** Milliseconds, as a number of 32 bits that wraps around. */
export function milliseconds() {
  const [seconds, nanoseconds] = hrtime();
  return (seconds * 1000 + nanoseconds / 1e6) | 0;
}
