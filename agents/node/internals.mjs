// SPDX-License-Identifier: Apache-2.0
// The parts of Node that only `--expose-internals` opens: its own acorn, which spares a dependency; signal handles, which the
// guest cannot remove as it can a listener on `process`; and the loader
// of modules, which otherwise serves modules only.

import {createRequire} from 'node:module';
import {Number, process} from './primordials.mjs';

const require = createRequire(import.meta.url);
const MAJOR = Number.parseInt(process.versions.node, 10);

function quietly(load) {
  // Node warns on standard error when this module is loaded, which would look like output of the guest.
  const {emitWarning} = process;
  process.emitWarning = () => {};
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}

const {internalBinding} = quietly(() => require('internal/test/binding'));

export const {Signal} = internalBinding('signal_wrap');

/** Loaded late: the parser is not needed to be ready. */
export function loadAcorn() {
  return require('internal/deps/acorn/acorn/dist/acorn');
}

/** An interrupt ends callbacks without the end that Node's book-keeping of asynchronous calls expects, and its check would abort. */
export function allowBrokenCallbacks() {
  const {async_hook_fields: fields, constants} = internalBinding('async_wrap');
  fields[constants.kCheck] = 0;
}

let loader;

/** import() as a module at `parent` (a file URL) would do it. */
export function importFrom(specifier, parent, attributes) {
  loader ??= MAJOR < 20 ? require('internal/process/esm_loader').esmLoader
    : require('internal/modules/esm/loader').getOrInitializeCascadedLoader();
  return loader.import(specifier, parent, attributes);
}
