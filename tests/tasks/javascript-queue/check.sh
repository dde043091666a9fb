#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
node - <<'END'
const assert = require('assert');
const { Queue } = require('./queue.js');
const later = (ms, value) => () => new Promise((done) => setTimeout(done, ms, value));
(async () => {
  const queue = new Queue();
  const first = queue.add(later(50, 1));
  const failed = queue.add(async () => { throw new Error('no'); });
  const last = queue.add(later(1, 2));
  await first;
  await assert.rejects(failed, /no/);
  await last;
  assert.deepStrictEqual(queue.results, [1, 2]);
})().catch((error) => { console.error(error); process.exit(1); });
END
