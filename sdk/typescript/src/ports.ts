// SPDX-License-Identifier: Apache-2.0
import type { Client, RequestOptions } from "./client.js";
import { InvalidError } from "./errors.js";
import type { Duration } from "./generated/models.js";
import type { Socket } from "./socket.js";

export interface PortToken {
  token: string;
  port: number;
  /** Until when it is good. */
  expires: string;
  /** The page for a browser, which has no key; undefined over a Unix socket. */
  url: string | undefined;
}

/** Servers inside a sandbox that listen on its loopback. */
export class Ports {
  /** @internal */
  constructor(private readonly client: Client, private readonly sandboxId: string) {}

  /** Sends a request to the server on a port and returns its response, whatever the status. Redirects are not
   *  followed. */
  async fetch(port: number, path = "/", init: RequestInit = {}): Promise<Response> {
    return await this.client.fetch(this.pathOf(port, path), init);
  }

  /** Opens a WebSocket of the server on a port. */
  async connect(port: number, path = "/", options: { signal?: AbortSignal | undefined } = {}): Promise<Socket> {
    return await this.client.socket(this.pathOf(port, path), options.signal);
  }

  /** The address of a port for programs that send a key; over a Unix socket, its host is only a name. */
  url(port: number, path = "/"): string {
    return this.client.origin + this.pathOf(port, path);
  }

  /** A token for this one port, for those who have no key. */
  async token(port: number, options: RequestOptions & { expires_in?: Duration | undefined } = {}): Promise<PortToken> {
    const { expires_in, ...rest } = options;
    const { token, expires } = await this.client.call("createPortToken",
      { ...rest, path: { id: this.sandboxId }, body: { port, expires_in } });
    const origin = this.client.url.startsWith("unix:") ? undefined : new URL(this.client.url);
    // An address of numbers has no names below it; every name below localhost leads to this machine.
    const host = origin && (/^[\d.]+$|:/.test(origin.hostname) ? "localhost" : origin.hostname);
    const url = origin && `${origin.protocol}//${port}-${this.sandboxId}.${host}${origin.port && `:${origin.port}`}`
      + `/?glovebox_token=${token}`;
    return { token, port, expires, url };
  }

  private pathOf(port: number, path: string): string {
    if (!Number.isInteger(port) || port < 1 || port > 65535) {
      throw new InvalidError(`invalid port '${port}'`, { code: "invalid" });
    }
    const prefix = `/v1/sandboxes/${encodeURIComponent(this.sandboxId)}/ports/${port}/`;
    const whole = new URL(prefix + path.replace(/^\/+/, ""), "http://localhost");
    if (!whole.pathname.startsWith(prefix)) {
      throw new InvalidError(`invalid path '${path}': it leads out of the port`, { code: "invalid" });
    }
    return whole.pathname + whole.search;
  }
}
