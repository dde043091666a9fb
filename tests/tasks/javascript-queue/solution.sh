#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# One after another; a failure is its caller's, and stops nobody else.
cat > queue.js <<'END'
class Queue {
  #last = Promise.resolve();
  constructor() { this.results = []; }
  add(job) {
    const done = this.#last.then(async () => { this.results.push(await job()); });
    this.#last = done.catch(() => {});
    return done;
  }
}
module.exports = { Queue };
END
