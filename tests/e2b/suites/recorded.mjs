// SPDX-License-Identifier: Apache-2.0
// Loaded before a suite (run_e2b.py): records which calls of E2B's SDKs have returned. Classes that
// are not exported are found where an object of theirs appears.
import { appendFileSync } from 'node:fs'
import * as base from 'e2b'
import * as interpreter from '@e2b/code-interpreter'

const returned = new Set()
const wrapped = new WeakSet() // Functions, and objects with them.

process.on('exit', () => {
  appendFileSync(process.env.E2B_CALLS, [...returned].map((name) => name + '\n').join(''))
})

function noted(name, value) {
  if (value instanceof Promise || typeof value?.then === 'function') {
    value.then((settled) => noted(name, settled), () => {})
    return value
  }
  returned.add(name)
  adopt(value)
  return value
}

function wrap(name, original) {
  const wrapper = function (...values) {
    return noted(name, original.apply(this, values))
  }
  wrapped.add(wrapper)
  return wrapper
}

function wrapMembers(holder, nameOf) {
  if (wrapped.has(holder)) return
  wrapped.add(holder)
  for (const [key, member] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
    if (key === 'constructor' || key === 'prototype' || !member.configurable) continue
    for (const kind of ['value', 'get']) {
      if (typeof member[kind] === 'function' && !wrapped.has(member[kind]) &&
          !/^class\b/.test(String(member[kind]))) {
        member[kind] = wrap(nameOf(key), member[kind])
        Object.defineProperty(holder, key, member)
      }
    }
  }
}

const isOfSdk = (prototype) => prototype && prototype !== Object.prototype &&
  typeof prototype.constructor === 'function' && prototype !== Error.prototype &&
  /^class\b/.test(Function.prototype.toString.call(prototype.constructor))

function adoptClass(prototype) {
  for (; isOfSdk(prototype); prototype = Object.getPrototypeOf(prototype)) {
    const owner = prototype.constructor
    wrapMembers(prototype, (key) => `${owner.name}.${key}`)
    wrapMembers(owner, (key) => `${owner.name}.${key} (static)`)
  }
}

// An object that the SDK gave, and those in its fields.
function adopt(value, depth = 2) {
  if (typeof value !== 'object' || value === null || depth === 0) return
  const prototype = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    value.slice(0, 1).forEach((each) => adopt(each, depth))
  } else if (isOfSdk(prototype)) {
    adoptClass(prototype)
    for (const member of Object.values(Object.getOwnPropertyDescriptors(value))) {
      adopt(member.value, depth - 1)
    }
  }
}

for (const exported of [base, interpreter].flatMap(Object.values)) {
  if (typeof exported === 'function') {
    adoptClass(exported.prototype)
  }
}
