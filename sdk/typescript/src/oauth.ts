// SPDX-License-Identifier: Apache-2.0
// Signing in to MCP servers: OAuth 2.1 as the Model Context Protocol has it, for a person at a browser on this machine.
// The tokens stay in this program; nothing of them enters a sandbox.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConnectionError, LoginError, TimeoutError } from "./errors.js";
import type { HeaderMap, HeaderSource } from "./mcp.js";
import { openBrowser } from "./platform.js";

const LONGEST_ANSWER = 256 * 1024;
/** Of the page that a browser comes back to. */
const MOST_VISITS = 64;
const MOST_FIELDS = 32;
const MS_OF_REQUEST = 30_000;
/** A token is renewed so long before it expires. */
const AHEAD_MS = 60_000;
const LOOPBACK = ["127.0.0.1", "[::1]", "localhost"];
const DONE = "<!doctype html><title>Glovebox</title><p>You can close this page.";

type Document = Record<string, unknown>;

interface RegisteredClient {
  client_id: string;
  client_secret: string;
}

/** What is stored: the token, the client that it is for, and where it is renewed. */
interface Held {
  url: string;
  client: RegisteredClient;
  token_endpoint: string;
  access_token: string;
  refresh_token?: string | undefined;
  /** In milliseconds; null: the server says when it is over. */
  expires: number | null;
}

export interface McpLoginOptions {
  /** Called with the address that the person is to visit; `false` says that there is no browser. Default: the browser of
   *  this machine. */
  openPage?: ((address: string) => unknown) | undefined;
  /** Default: those that the server asks for. */
  scopes?: readonly string[] | undefined;
  /** Of a program that was registered by hand. Default: this program registers itself. */
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  clientName?: string | undefined;
  /** A file for the tokens, which only this user can read: the next run of the program needs nobody. */
  store?: string | undefined;
  /** Seconds for the person; every request of this program takes at most 30. Default: 300. */
  timeout?: number | undefined;
}

/** A sign-in to one MCP server, passed as its `headers`:
 *
 *      const server = await McpServer.connect(url, { headers: new McpLogin(url) });
 *
 *  The first request finds the server's authorization server, registers this program there unless `clientId` names it,
 *  and opens a page where a person agrees. Later requests use the token and renew it before it expires. */
export class McpLogin implements HeaderSource {
  readonly #url: string;
  readonly #options: McpLoginOptions;
  #held: Held | undefined;
  #loaded = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string, options: McpLoginOptions = {}) {
    this.#url = checkedAddress(url, "the MCP server");
    this.#options = options;
  }

  /** The headers of a request. Rejects with a `LoginError`, `TimeoutError` or `ConnectionError`. */
  async headers(): Promise<HeaderMap> {
    return await this.#alone(async () => {
      if (this.#held?.expires != null && Date.now() >= this.#held.expires - AHEAD_MS) await this.#renew(this.#held);
      return bearer(this.#held ?? await this.#signIn());
    });
  }

  /** The server does not take the token of these headers. Whether another one is worth a try. */
  async refused(headers: HeaderMap): Promise<boolean> {
    return await this.#alone(async () => {
      if (this.#held && headers["authorization"] === bearer(this.#held)["authorization"]) await this.#renew(this.#held);
      return true;
    });
  }

  /** The next request signs in anew. */
  async forget(): Promise<void> {
    await this.#alone(async () => await this.#keep(undefined));
  }

  /** Several requests may want a token at once; one of them signs in. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(async () => {
      if (!this.#loaded) this.#held = await this.#load();
      this.#loaded = true;
      return await work();
    });
    this.#turn = result.catch(() => {});
    return await result;
  }

  // The tokens.

  /** By the refresh token, or not at all: then a person has to sign in. */
  async #renew({ refresh_token: refresh, client, token_endpoint: endpoint }: Held): Promise<void> {
    try {
      if (!refresh) throw new LoginError("there is no refresh token", { code: "login" });
      await this.#takeTokens(client, endpoint, { grant_type: "refresh_token", refresh_token: refresh });
    } catch (error) {
      if (!(error instanceof LoginError)) throw error;
      await this.#keep(undefined);
    }
  }

  async #takeTokens(client: RegisteredClient, endpoint: string, form: Record<string, string>): Promise<Held> {
    const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" };
    if (client.client_secret) {
      const pair = [client.client_id, client.client_secret].map(formEncoded).join(":");
      headers["authorization"] = `Basic ${btoa(pair)}`;
    }
    const body = new URLSearchParams({ ...form, client_id: client.client_id, resource: this.#url });
    const answer = await asked(endpoint, headers, body.toString());
    const { access_token: token, expires_in: seconds, refresh_token: refresh } = answer;
    if (!isWord(token) || String(answer["token_type"] ?? "").toLowerCase() !== "bearer") {
      throw new LoginError("the authorization server's answer has no bearer token", { code: "protocol" });
    }
    const held: Held = {
      url: this.#url, client, token_endpoint: endpoint, access_token: token,
      refresh_token: typeof refresh === "string" && refresh ? refresh : form["refresh_token"],
      expires: typeof seconds === "number" ? Date.now() + seconds * 1000 : null,
    };
    await this.#keep(held);
    return held;
  }

  async #load(): Promise<Held | undefined> {
    if (this.#options.store === undefined) return undefined;
    try {
      const { readFile } = await import("node:fs/promises");
      const held = JSON.parse(await readFile(this.#options.store, "utf8")) as Held;
      checkedAddress(held.token_endpoint, "the authorization server");
      const right = held.url === this.#url && typeof held.client.client_id === "string" && isWord(held.access_token)
        && (held.expires === null || typeof held.expires === "number");
      return right ? held : undefined;
    } catch {
      return undefined;  // None, or of another program.
    }
  }

  async #keep(held: Held | undefined): Promise<void> {
    this.#held = held;
    const { store } = this.#options;
    if (store === undefined) return;
    const [{ mkdir, open, rename, rm }, { dirname }] = await Promise.all([import("node:fs/promises"), import("node:path")]);
    await mkdir(dirname(store), { recursive: true });
    // A new file that only this user can read; the rename replaces a link.
    const name = `${store}.${randomWord(12)}`;
    const file = await open(name, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(held ?? {})).finally(() => file.close());
      await rename(name, store);
    } catch (error) {
      await rm(name, { force: true });
      throw error;
    }
  }

  // The sign-in.

  async #signIn(): Promise<Held> {
    const { scope, issuer } = await this.#guards();
    const place = await metadata(issuer);
    const methods = place["code_challenge_methods_supported"];
    if (!Array.isArray(methods) || !methods.includes("S256")) {
      throw new LoginError(`the authorization server ${issuer} does not support PKCE with S256`, { code: "login" });
    }
    const page = checkedAddress(place["authorization_endpoint"], "the authorization page");
    const endpoint = checkedAddress(place["token_endpoint"], "the token endpoint");
    const verifier = randomWord(48);
    const state = randomWord(24);
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    const listener = await Listener.open(state);
    try {
      const { clientId, clientSecret = "", openPage = openBrowser, timeout = 300 } = this.#options;
      const client = clientId ? { client_id: clientId, client_secret: clientSecret }
        : await this.#register(place, issuer, listener.address);
      const query = new URLSearchParams({
        response_type: "code", client_id: client.client_id, state, redirect_uri: listener.address, resource: this.#url,
        code_challenge: urlSafe(digest), code_challenge_method: "S256", ...(scope ? { scope } : {}) });
      if (await openPage(`${page}${page.includes("?") ? "&" : "?"}${query}`) === false) {
        throw new LoginError("there is no browser to sign in with",
          { code: "login", hint: "pass openPage: console.log, and visit the address that it prints on this machine" });
      }
      const said = await listener.wait(timeout);
      // RFC 9207: an answer that another server has sent is not for this one.
      const named = said.get("iss");
      if ((named !== undefined || place["authorization_response_iss_parameter_supported"]) && named !== place["issuer"]) {
        throw new LoginError("the answer to the sign-in comes from another authorization server", { code: "login" });
      }
      const code = said.get("code");
      if (said.has("error") || !code) {
        throw new LoginError(`the sign-in was refused: ${shown(said.get("error") ?? "no code")}`, { code: "login" });
      }
      return await this.#takeTokens(client, endpoint,
        { grant_type: "authorization_code", code, redirect_uri: listener.address, code_verifier: verifier });
    } finally {
      listener.close();
    }
  }

  /** What the server wants to be asked for, and the authorization server that it names. */
  async #guards(): Promise<{ scope: string; issuer: string }> {
    const challenge = await challengeOf(this.#url);
    const { origin } = new URL(this.#url);
    const name = "oauth-protected-resource";
    const found = challenge.get("resource_metadata");
    const places = found ? [found] : [wellKnown(this.#url, name), wellKnown(origin, name)];
    if (places.some((place) => !URL.canParse(place) || new URL(place).origin !== origin)) {
      throw new LoginError("the MCP server names a description of itself at another address", { code: "login" });
    }
    const guarded = await first(places);
    // As before RFC 9728: it is its own.
    if (!guarded) return { scope: (this.#options.scopes ?? []).join(" "), issuer: origin };
    const resource = String(guarded["resource"] ?? "");
    const covers = `${this.#url}/`.startsWith(`${resource.replace(/\/+$/, "")}/`);
    if (!covers || !URL.canParse(resource) || new URL(resource).origin !== origin) {
      throw new LoginError(`the MCP server describes another one: ${shown(resource)}`, { code: "login" });
    }
    const issuers = guarded["authorization_servers"];
    if (!Array.isArray(issuers) || issuers.length === 0) {
      throw new LoginError("the MCP server names no authorization server", { code: "login" });
    }
    const supported = guarded["scopes_supported"];
    const scope = this.#options.scopes?.join(" ") ?? challenge.get("scope")
      ?? (Array.isArray(supported) ? supported.map(String).join(" ") : "");
    return { scope, issuer: checkedAddress(issuers[0], "the authorization server") };
  }

  async #register(place: Document, issuer: string, redirect: string): Promise<RegisteredClient> {
    if (!place["registration_endpoint"]) {
      throw new LoginError(`the authorization server ${issuer} registers no programs`,
        { code: "login", hint: "register this one there by hand, and pass its clientId" });
    }
    const endpoint = checkedAddress(place["registration_endpoint"], "the registration endpoint");
    const made = await asked(endpoint, { "content-type": "application/json" }, JSON.stringify({
      client_name: this.#options.clientName ?? "Glovebox", redirect_uris: [redirect],
      grant_types: ["authorization_code", "refresh_token"], response_types: ["code"],
      token_endpoint_auth_method: "none" }));
    if (typeof made["client_id"] !== "string") {
      throw new LoginError("the authorization server's registration has no client_id", { code: "protocol" });
    }
    const secret = made["client_secret"];
    return { client_id: made["client_id"], client_secret: typeof secret === "string" ? secret : "" };
  }
}

/** Where the browser comes back to: an address of this machine alone, for one answer. */
class Listener {
  #visits = 0;
  #heard!: (fields: ReadonlyMap<string, string>) => void;
  readonly #answer = new Promise<ReadonlyMap<string, string>>((resolve) => { this.#heard = resolve; });
  address = "";

  private constructor(private readonly state: string, private readonly server: import("node:http").Server) {}

  static async open(state: string): Promise<Listener> {
    const { createServer } = await import("node:http");
    // So that nobody holds up the others.
    const server = createServer({ requestTimeout: 5000, headersTimeout: 5000, keepAlive: false });
    const listener = new Listener(state, server);
    server.on("request", (request, response) => listener.#visit(request, response));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    listener.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    return listener;
  }

  async wait(seconds: number): Promise<ReadonlyMap<string, string>> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new TimeoutError(`nobody signed in within ${seconds} s`,
        { code: "timeout", hint: "raise the timeout of McpLogin" })), seconds * 1000);
    });
    try {
      return await Promise.race([this.#answer, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  #visit(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.address);
    const fields = url.searchParams.size <= MOST_FIELDS ? new Map(url.searchParams) : new Map<string, string>();
    // Anybody on this machine can come here: only who knows the state is heard.
    const right = ++this.#visits <= MOST_VISITS && request.method === "GET" && url.pathname === "/callback"
      && sameText(fields.get("state") ?? "", this.state);
    response.writeHead(right ? 200 : 404,
      { "content-type": "text/html; charset=utf-8", "referrer-policy": "no-referrer", connection: "close" });
    response.end(right ? DONE : "", () => {
      if (right) this.#heard(fields);
    });
  }
}

/** An address that secrets may go to: https, or a server of this machine. */
function checkedAddress(address: unknown, what: string): string {
  const url = isWord(address) && URL.canParse(address) ? new URL(address) : undefined;
  const safe = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.includes(url.hostname));
  if (!url || !safe || url.username || url.password || String(address).includes("#")) {
    throw new LoginError(`invalid address of ${what}: '${shown(address)}'`, { code: "invalid", hint: "it must use https://" });
  }
  return String(address);
}

/** What the server says to who has no token. */
async function challengeOf(url: string): Promise<ReadonlyMap<string, string>> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetched(url, headers, "{}");
  await response.body?.cancel();
  const said = response.ok ? "" : (response.headers.get("www-authenticate") ?? "").slice(0, 8192);
  return new Map([...said.matchAll(/(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/g)].map(
    ([, name = "", text, word = ""]) => [name.toLowerCase(), text ?? word]));
}

/** Where a description of an address is: its path comes behind the name. */
function wellKnown(address: string, name: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}/.well-known/${name}${pathname.replace(/\/+$/, "")}`;
}

/** What an authorization server says of itself. */
async function metadata(issuer: string): Promise<Document> {
  const bare = issuer.replace(/\/+$/, "");
  const found = await first([wellKnown(issuer, "oauth-authorization-server"), wellKnown(issuer, "openid-configuration"),
    `${bare}/.well-known/openid-configuration`]);
  // RFC 8414: one that speaks for another is not believed.
  if (!found || String(found["issuer"]).replace(/\/+$/, "") !== bare) {
    throw new LoginError(`there is no description of the authorization server ${issuer}`, { code: "login" });
  }
  return found;
}

async function first(places: readonly string[]): Promise<Document | undefined> {
  for (const place of places) {
    try {
      return await asked(place, {});
    } catch (error) {
      if (!(error instanceof LoginError)) throw error;  // Otherwise there is none at this address.
    }
  }
  return undefined;
}

/** The JSON object that a server answers. A `LoginError` where it refuses. */
async function asked(url: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Document> {
  const response = await fetched(url, { accept: "application/json", ...headers }, body);
  const { origin } = new URL(url);
  const { status } = response;
  const answer = documentIn(await textOf(response, url));
  if (status >= 500 || status === 429) {
    throw new ConnectionError(`${origin} returns status ${status}`, { code: "unreachable", status });
  }
  if (!response.ok) {
    const reason = shown(answer?.["error_description"] ?? answer?.["error"] ?? "no reason");
    throw new LoginError(`${origin} refuses with status ${status}: ${reason}`, { code: "login", status });
  }
  if (!answer) throw new LoginError(`${origin} returns no JSON object`, { code: "protocol" });
  return answer;
}

/** A response as it comes: what is sent must not follow to another address. */
async function fetched(url: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Response> {
  try {
    return await fetch(url, { method: body === undefined ? "GET" : "POST", headers, redirect: "manual",
      signal: AbortSignal.timeout(MS_OF_REQUEST), ...(body === undefined ? {} : { body }) });
  } catch (error) {
    throw new ConnectionError(`cannot reach ${new URL(url).origin}`, { code: "unreachable", cause: error });
  }
}

/** The body, or nothing where it is longer than any answer of such a server. */
async function textOf(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    for await (const bytes of response.body ?? []) {
      size += (bytes as Uint8Array).length;
      if (size > LONGEST_ANSWER) return "";
      text += decoder.decode(bytes as Uint8Array, { stream: true });
    }
  } catch (error) {
    throw new ConnectionError(`cannot read the answer of ${new URL(url).origin}`, { code: "unreachable", cause: error });
  }
  return text;
}

function documentIn(text: string): Document | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Document : undefined;
  } catch {
    return undefined;
  }
}

function bearer(held: Held): { readonly authorization: string } {
  return { authorization: `Bearer ${held.access_token}` };
}

/** What can stand in a header or a command line, whatever reads it. */
function isWord(value: unknown): value is string {
  return typeof value === "string" && /^[!-~]{1,65536}$/.test(value);
}

/** Words of a server, for a person at a terminal. */
function shown(value: unknown): string {
  return String(value).slice(0, 200).replace(/\p{C}/gu, "?");
}

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function urlSafe(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function randomWord(bytes: number): string {
  return urlSafe(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** Compares in a time that says nothing of where two texts differ. */
function sameText(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < other.length; at++) difference |= (one.charCodeAt(at) || 0) ^ other.charCodeAt(at);
  return difference === 0;
}
