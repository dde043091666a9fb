// SPDX-License-Identifier: Apache-2.0
import { Client, type WithClient } from "./client.js";
import { ConnectionError } from "./errors.js";
import type * as models from "./generated/models.js";

export interface BuildOptions {
  client?: Client | undefined;
  onProgress?: ((progress: { step: number; steps: number; message: string }) => void) | undefined;
  onLog?: ((text: string) => void) | undefined;
  /** Gives up the build. */
  signal?: AbortSignal | undefined;
}

async function built(events: AsyncGenerator<unknown, void>, options: BuildOptions): Promise<models.Template> {
  for await (const each of events) {
    const event = each as models.TemplateEvent;
    if (event.type === "progress") {
      options.onProgress?.({ step: event.step ?? 0, steps: event.steps ?? 0, message: event.message ?? "" });
    }
    if (event.type === "log") options.onLog?.(event.text ?? "");
    if (event.type === "built" && event.template) return event.template;
  }
  throw new ConnectionError("the build's events ended early", { code: "connection_lost" });
}

/** Templates, which sandboxes are created from. */
export const Template = {
  /** Builds a template from a recipe. A recipe that was built before is taken from there. */
  async build(recipe: models.TemplateRecipe, options: BuildOptions = {}): Promise<models.Template> {
    return await built(Client.of(options.client).events("buildTemplate", ["built"],
      { body: recipe, signal: options.signal }), options);
  },

  /** Builds a template from an image: a tar archive, which may be compressed. */
  async import(name: string, format: "oci" | "docker" | "rootfs", archive: Blob | Uint8Array | ReadableStream<Uint8Array>,
    options: BuildOptions = {}): Promise<models.Template> {
    return await built(Client.of(options.client).events("importTemplate", ["built"],
      { path: { name }, query: { format }, body: archive, signal: options.signal, repeatable: false }), options);
  },

  async list(options: WithClient = {}): Promise<models.Template[]> {
    const { client, ...rest } = options;
    return (await Client.of(client).call("listTemplates", rest)).templates;
  },

  async info(name: string, options: WithClient = {}): Promise<models.Template> {
    const { client, ...rest } = options;
    return await Client.of(client).call("getTemplate", { ...rest, path: { name } });
  },

  async remove(name: string, options: WithClient = {}): Promise<void> {
    const { client, ...rest } = options;
    await Client.of(client).call("removeTemplate", { ...rest, path: { name } });
  },
};
