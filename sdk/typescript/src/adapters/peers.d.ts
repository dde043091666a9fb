// SPDX-License-Identifier: Apache-2.0
// What the adapters use of other packages, so that this one compiles without them. Its users compile against the
// packages themselves, and so do the tests.
declare module "ai" {
  export function jsonSchema<T>(schema: object): { readonly jsonSchema: object; readonly _type: T };
  export function tool<Input, Output>(definition: {
    description: string;
    inputSchema: { readonly jsonSchema: object; readonly _type: Input };
    execute: (input: Input, options: { abortSignal?: AbortSignal }) => Promise<Output>;
    toModelOutput: (options: { output: Output }) => unknown;
  }): import("ai").Tool<Input, Output>;
  export interface Tool<Input, Output> { execute?: (input: Input, options: { abortSignal?: AbortSignal }) => Promise<Output> }
}

declare module "deepagents" {
  export abstract class BaseSandbox {
    abstract readonly id: string;
  }
}
