// SPDX-License-Identifier: Apache-2.0
import { ExecutionError } from "./errors.js";
import type * as models from "./generated/models.js";

export interface Verdict extends models.Verdict {}

/** How code ended: all fields of the API's verdict, and what one asks of it most often. */
export class Verdict {
  constructor(fields: models.Verdict) {
    Object.assign(this, fields);
  }

  /** Whether the code ended well: status `ok`, and no check that failed. */
  get ok(): boolean {
    return this.status === "ok" && (this.verification === undefined || this.verification.status === "ok");
  }

  /** The value of the code itself as text, if it has one. */
  get text(): string | undefined {
    const value = this.results.find((each) => each.main)?.data["text/plain"];
    return typeof value === "string" ? value : undefined;
  }

  /** The last value of this MIME type that the code showed, such as `image/png` (base64) or `text/html`. */
  show(type: string): unknown {
    return this.results.findLast((each) => type in each.data)?.data[type];
  }

  /** Bytes of the standard output, also where they are no text. */
  get stdoutBytes(): Uint8Array {
    return bytesOf(this.stdout, this.stdout_base64);
  }

  /** Bytes of the standard error, also where they are no text. */
  get stderrBytes(): Uint8Array {
    return bytesOf(this.stderr, this.stderr_base64);
  }

  /** Returns itself if the code ended well; throws an `ExecutionError` otherwise. */
  orThrow(): this {
    if (this.ok) return this;
    const what = this.error ? `${this.error.name}: ${this.error.value}`
      : this.stderr.trim().split("\n").at(-1) || `exit status ${this.exit_code}`;
    throw new ExecutionError(`the code ended with ${this.status}: ${what}`, this, this.status);
  }
}

export interface CommandResult extends models.CommandResult {}

/** How a command ended, and what it printed. */
export class CommandResult {
  constructor(fields: models.CommandResult) {
    Object.assign(this, fields);
  }

  get ok(): boolean {
    return this.exit_code === 0;
  }

  /** Bytes of the standard output, also where they are no text. */
  get stdoutBytes(): Uint8Array {
    return bytesOf(this.stdout, this.stdout_base64);
  }

  /** Bytes of the standard error, also where they are no text. */
  get stderrBytes(): Uint8Array {
    return bytesOf(this.stderr, this.stderr_base64);
  }

  /** Returns itself if the command ended well; throws an `ExecutionError` otherwise. */
  orThrow(): this {
    if (this.ok) return this;
    const what = this.stderr.trim().split("\n").at(-1);
    throw new ExecutionError(`the command ended with ${this.reason}, exit status ${this.exit_code}`
      + (what ? `: ${what}` : ""), this, this.reason);
  }
}

function bytesOf(text: string, base64: string | undefined): Uint8Array {
  return base64 === undefined ? new TextEncoder().encode(text)
    : Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
}
