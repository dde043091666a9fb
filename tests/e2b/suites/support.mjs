// SPDX-License-Identifier: Apache-2.0
// What the suites share: a sandbox for the length of a suite, and requests past the SDKs.
import { after, before } from 'node:test'
import { Sandbox } from '@e2b/code-interpreter'

export const url = process.env.E2B_SANDBOX_URL
export const key = process.env.E2B_API_KEY

// How much slower the tier's sandboxes may be.
export const patience = Number(process.env.GLOVEBOX_E2B_PATIENCE ?? 1)
const requestTimeoutMs = 60_000 * patience // The SDK's own default, where sandboxes are as fast as E2B's.

// An object whose `sandbox` lives while the tests of a file run.
export function withSandbox(options = {}) {
  const held = { sandbox: undefined }
  before(async () => {
    held.sandbox = await Sandbox.create({ timeoutMs: 120_000 * patience, requestTimeoutMs, ...options })
  })
  after(async () => {
    await held.sandbox?.kill()
  })
  return held
}

// Calls `use` with a sandbox that ends with it.
export async function inSandbox(use, options = {}) {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 * patience, requestTimeoutMs, ...options })
  try {
    return await use(sandbox)
  } finally {
    await sandbox.kill()
  }
}

// A request as no SDK makes it; answers status, headers and the body, parsed where it is JSON.
export async function control(method, path, body, headers = { 'X-API-KEY': key }) {
  const response = await fetch(url + path, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  let parsed = text
  try {
    parsed = JSON.parse(text)
  } catch {
    // Not every answer is JSON.
  }
  return { status: response.status, headers: response.headers, body: parsed }
}

export function insideHeaders(sandbox, port) {
  return {
    'E2b-Sandbox-Id': sandbox.sandboxId,
    'E2b-Sandbox-Port': String(port),
    ...(sandbox.envdAccessToken ? { 'X-Access-Token': sandbox.envdAccessToken } : {}),
  }
}

// Waits until `holds` answers something true, or fails after a while.
export async function eventually(holds, { within = 10_000 * patience, every = 20 } = {}) {
  const end = Date.now() + within
  for (;;) {
    const value = await holds()
    if (value) return value
    if (Date.now() > end) throw new Error(`did not come true within ${within} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, every))
  }
}

// A promise with the functions that settle it, and a limit.
export function expectation(within = 10_000 * patience) {
  let settle
  const promise = new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`nothing within ${within} ms`)), within)
    settle = (value) => {
      clearTimeout(limit)
      resolve(value)
    }
  })
  return { promise, settle }
}
