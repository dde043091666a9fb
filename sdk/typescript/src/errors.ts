// SPDX-License-Identifier: Apache-2.0
import type { Error as ErrorDocument } from "./generated/models.js";

export interface ErrorDetails {
  /** The kind of error as one word, such as `not_found`. */
  code?: string | undefined;
  /** The HTTP status, if the daemon sent one. */
  status?: number | undefined;
  /** How to fix it. */
  hint?: string | undefined;
  /** Seconds to wait before another attempt. */
  retryAfter?: number | undefined;
  /** The daemon's name for the request, as in its access log. */
  requestId?: string | undefined;
  cause?: unknown;
}

/** Why Glovebox could not do something. How code ended is never an error, but a `Verdict`. */
export class GloveboxError extends Error {
  readonly code: string;
  readonly status: number | undefined;
  readonly hint: string | undefined;
  readonly retryAfter: number | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(details.hint ? `${message}\n  hint: ${details.hint}` : message,
      details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = details.code ?? "failed";
    this.status = details.status;
    this.hint = details.hint || undefined;
    this.retryAfter = details.retryAfter;
    this.requestId = details.requestId;
  }
}

/** 400, 422, and arguments that this library refuses itself. */
export class InvalidError extends GloveboxError {}
/** 401: the API key is missing or unknown. */
export class AuthenticationError extends GloveboxError {}
/** 403: the key has not the scope, or the operator forbids it. */
export class PermissionError extends GloveboxError {}
/** 404: there is no such thing, or it belongs to another tenant. */
export class NotFoundError extends GloveboxError {}
/** 409: the request does not fit the present state. */
export class ConflictError extends GloveboxError {}
/** 410: it was there and has ended. */
export class GoneError extends GloveboxError {
  readonly reason: ErrorDocument["reason"];
  readonly endedAt: Date | undefined;

  constructor(message: string, details: ErrorDetails = {}, document?: Partial<ErrorDocument>) {
    super(message, details);
    this.reason = document?.reason;
    this.endedAt = document?.ended_at === undefined ? undefined : new Date(document.ended_at);
  }
}
/** 413: the body is too large. */
export class TooLargeError extends GloveboxError {}
/** 429: a quota or a rate is used up. */
export class RateLimitError extends GloveboxError {}
/** 501: this daemon cannot do that. */
export class UnsupportedError extends GloveboxError {}
/** 503: the daemon cannot do that now. */
export class UnavailableError extends GloveboxError {}
/** Any other status of 500 and above. */
export class ServerError extends GloveboxError {}
/** The daemon cannot be reached, or the connection broke. */
export class ConnectionError extends GloveboxError {}
/** The daemon did not respond within the time-out of the request. */
export class TimeoutError extends GloveboxError {}
/** An MCP server has refused a request or broken its protocol, or its tool says that it has failed. `status` is the code
 *  of JSON-RPC, if there is one. */
export class McpError extends GloveboxError {
  constructor(message: string, details: ErrorDetails = {}, readonly data?: unknown) {
    super(message, details);
  }
}
/** Nobody is signed in to an MCP server, and why. */
export class LoginError extends GloveboxError {}
/** Thrown by `Verdict.orThrow` and `CommandResult.orThrow`: what ran did not end well. */
export class ExecutionError<Result = unknown> extends GloveboxError {
  constructor(message: string, readonly result: Result, code: string) {
    super(message, { code });
  }
}

const classes: Readonly<Record<number, typeof GloveboxError>> = {
  400: InvalidError, 401: AuthenticationError, 403: PermissionError, 404: NotFoundError,
  409: ConflictError, 413: TooLargeError, 422: InvalidError, 429: RateLimitError,
  501: UnsupportedError, 503: UnavailableError,
};

/** The error that a document of the daemon describes. */
export function errorOf(document: Partial<ErrorDocument>, details: ErrorDetails = {}): GloveboxError {
  const status = document.code ?? details.status;
  const message = document.message ?? `the daemon returned status ${status}`;
  const all: ErrorDetails = {
    ...details, status, code: document.error ?? details.code, hint: document.hint ?? details.hint,
  };
  if (status === 410) return new GoneError(message, all, document);
  const Class = (status !== undefined ? classes[status] : undefined)
    ?? (status !== undefined && status >= 500 ? ServerError : GloveboxError);
  return new Class(message, all);
}

/** The error of a response whose status is none of success; reads its body. */
export async function errorOfResponse(response: Response): Promise<GloveboxError> {
  const text = await response.text().catch(() => "");
  const after = Number(response.headers.get("retry-after") ?? Number.NaN);
  const details: ErrorDetails = {
    status: response.status,
    retryAfter: Number.isFinite(after) && after >= 0 ? after : undefined,
    requestId: response.headers.get("x-request-id") ?? undefined,
  };
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    document = undefined;
  }
  if (typeof document !== "object" || document === null || !("message" in document)) {
    return errorOf({}, details);
  }
  return errorOf({ ...document as Partial<ErrorDocument>, code: response.status }, details);
}
