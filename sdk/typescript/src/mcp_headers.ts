// SPDX-License-Identifier: Apache-2.0
// What of a request to an MCP server stands in HTTP headers, too: the arguments that a tool's schema marks with
// `x-mcp-header`.

const MARK = "x-mcp-header";
const DEEPEST = 64;
const TYPES = ["string", "integer", "boolean"];
const DATA = ["const", "default", "enum", "examples"];

/** Names of headers, each with the path of its argument. */
export type HeaderPaths = ReadonlyMap<string, readonly string[]>;

interface Mark {
  name: unknown;
  path: readonly string[];
  type: unknown;
}

/** The headers that a tool's input schema asks for; a text that says what is wrong where a mark is not valid: the tool
 *  cannot be called as its server wants it. */
export function headerPaths(schema: unknown): HeaderPaths | string {
  const found = new Map<string, readonly string[]>();
  const known = new Set<string>();
  const problem = eachMark(schema, [], true, 0, ({ name, path, type }) => {
    if (typeof name !== "string" || !/^[\w!#$%&'*+.^`|~-]{1,128}$/.test(name)) return "the name of a header is not valid";
    if (!TYPES.includes(String(type))) return `only ${TYPES.join(", ")} can be in the header '${name}'`;
    if (known.has(name.toLowerCase())) return `two arguments are in the header '${name}'`;
    known.add(name.toLowerCase());
    found.set(name, path);
    return undefined;
  });
  return problem ?? found;
}

/** Visits the marks until one has a problem, which it returns. */
function eachMark(schema: unknown, path: readonly string[], reachable: boolean, depth: number,
  visit: (mark: Mark) => string | undefined): string | undefined {
  if (depth > DEEPEST) return `its schema is more than ${DEEPEST} levels deep`;
  if (typeof schema !== "object" || schema === null) return undefined;
  if (!Array.isArray(schema) && Object.hasOwn(schema, MARK)) {
    const { [MARK]: name, type } = schema as Record<string, unknown>;
    if (!reachable || path.length === 0) return "a header is asked for where it is not always the same argument";
    const problem = visit({ name, path, type });
    if (problem) return problem;
  }
  for (const [key, value] of Object.entries(schema)) {
    if (key === MARK || DATA.includes(key)) continue;
    const isObject = key === "properties" && typeof value === "object" && value !== null && !Array.isArray(value);
    for (const [name, each] of isObject ? Object.entries(value) : [["", value]] as [string, unknown][]) {
      const problem = eachMark(each, isObject ? [...path, name] : path, isObject && reachable, depth + 1, visit);
      if (problem) return problem;
    }
  }
  return undefined;
}

/** The headers of a call. An argument that is missing, or has another type, is in none. */
export function mirrored(paths: HeaderPaths, args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, path] of paths) {
    const value = path.reduce<unknown>((at, key) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined, args);
    if (typeof value === "boolean" || Number.isSafeInteger(value) || typeof value === "string") {
      headers[`mcp-param-${name}`] = headerValue(String(value));
    }
  }
  return headers;
}

/** A text as the value of a header: itself, or in base64 where it could not stand there. */
export function headerValue(text: string): string {
  if (/^[!-~]([ -~]*[!-~])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}
