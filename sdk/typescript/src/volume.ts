// SPDX-License-Identifier: Apache-2.0
import { Client, type RequestOptions, type WithClient } from "./client.js";
import { Files } from "./files.js";
import type * as models from "./generated/models.js";

/** A directory that outlives sandboxes, and that several can have. */
export class Volume {
  readonly files: Files;

  private constructor(private readonly client: Client, readonly name: string) {
    this.files = new Files(client, name, "volume");
  }

  static async create(options: WithClient & {
    name: string;
    size?: models.Size | undefined;
    inodes?: number | undefined;
  }): Promise<Volume> {
    const { client: given, name, size, inodes, ...rest } = options;
    const client = Client.of(given);
    return new Volume(client, (await client.call("createVolume", { ...rest, body: { name, size, inodes } })).name);
  }

  /** A volume by its name or id, without asking the daemon. */
  static get(name: string, options: { client?: Client | undefined } = {}): Volume {
    return new Volume(Client.of(options.client), name);
  }

  static async list(options: WithClient = {}): Promise<models.Volume[]> {
    const { client, ...rest } = options;
    return (await Client.of(client).call("listVolumes", rest)).volumes;
  }

  async info(options: RequestOptions = {}): Promise<models.Volume> {
    return await this.client.call("getVolume", { ...options, path: { id: this.name } });
  }

  /** Removes it and everything in it; not while a sandbox has it. */
  async remove(options: RequestOptions = {}): Promise<void> {
    await this.client.call("removeVolume", { ...options, path: { id: this.name } });
  }
}
