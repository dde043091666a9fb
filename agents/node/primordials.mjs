// SPDX-License-Identifier: Apache-2.0
// The guest shares the agent's global scope and may well have a `class Map` of its own. So the agent takes what it needs of that scope
// from here, where it was put before the guest ran; likewise, functions of Node's modules, whose exports the guest can replace, are
// taken out of them at the top of each file.

export const {
  Array, Atomics, Boolean, Buffer, Error, Int32Array, JSON, Map, Number, Object, Promise, RangeError, Reflect, Set, SharedArrayBuffer,
  String, Symbol, SyntaxError, TypeError, URL, process, setImmediate,
} = globalThis;
