// SPDX-License-Identifier: Apache-2.0
import type { Client, RequestOptions } from "./client.js";
import { NotFoundError } from "./errors.js";
import type { FileEntry, FileEvent } from "./generated/models.js";

export type FileContent = string | Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface ReadOptions extends RequestOptions {
  /** The first and the last byte to read, as in HTTP; or only the first. */
  range?: readonly [first: number, last?: number] | undefined;
}

export interface WriteOptions extends RequestOptions {
  /** Permissions, in octal. Default: `0644`. */
  mode?: string | undefined;
  /** Adds to the file instead of replacing it. */
  append?: boolean | undefined;
  /** Responds only once the file is on the disk. */
  flush?: boolean | undefined;
}

export type ArchiveFormat = "tar" | "tar.gz" | "zip";

export function bodyOf(content: FileContent): string | Uint8Array | Blob | ReadableStream<Uint8Array> {
  if (content instanceof ArrayBuffer) return new Uint8Array(content);
  if (typeof content === "string" || content instanceof Uint8Array || content instanceof Blob
    || content instanceof ReadableStream) return content;
  const source = content[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await source.return?.();
    },
  });
}

/** Files of a sandbox or of a volume. Relative paths start in the workspace, or at the top of the volume. */
export class Files {
  /** @internal */
  constructor(protected readonly client: Client, protected readonly id: string,
    private readonly owner: "sandbox" | "volume" = "sandbox") {}

  private get operations() {
    return this.owner === "sandbox"
      ? { read: "readFile", write: "writeFile", remove: "removeFile", list: "listFiles", change: "changeFiles" } as const
      : { read: "readVolumeFile", write: "writeVolumeFile", remove: "removeVolumeFile", list: "listVolumeFiles",
        change: "changeVolumeFiles" } as const;
  }

  private async open(path: string, options: ReadOptions): Promise<Response> {
    const { range, ...rest } = options;
    return await this.client.send(this.operations.read, { ...rest, path: { id: this.id, path },
      headers: range ? { range: `bytes=${range[0]}-${range[1] ?? ""}` } : undefined });
  }

  /** A file as text, which is UTF-8. */
  async read(path: string, options: ReadOptions = {}): Promise<string> {
    return await (await this.open(path, options)).text();
  }

  async readBytes(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.open(path, options)).arrayBuffer());
  }

  /** A file of any size, as it comes. */
  async readStream(path: string, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.open(path, options)).body ?? new ReadableStream({ start: (each) => each.close() });
  }

  /** Writes a file, and creates the directories above it. */
  async write(path: string, content: FileContent, options: WriteOptions = {}): Promise<FileEntry> {
    const { mode, append, flush, ...rest } = options;
    const response = await this.client.send(this.operations.write, { ...rest, path: { id: this.id, path },
      query: { mode, append, flush }, body: bodyOf(content), repeatable: append ? false : undefined });
    return await response.json() as FileEntry;
  }

  /** Writes several files, one after the other. */
  async writeMany(files: Readonly<Record<string, FileContent>>, options: WriteOptions = {}): Promise<FileEntry[]> {
    const entries: FileEntry[] = [];
    for (const [path, content] of Object.entries(files)) entries.push(await this.write(path, content, options));
    return entries;
  }

  /** The entries of a directory in lexical order, down to `depth` (1). */
  async list(path?: string, options: RequestOptions & { depth?: number | undefined } = {}): Promise<FileEntry[]> {
    const { depth, ...rest } = options;
    return (await this.client.call(this.operations.list,
      { ...rest, path: { id: this.id }, query: { list: path, depth } })).entries;
  }

  /** A file's size, mode and times. */
  async stat(path: string, options: RequestOptions = {}): Promise<FileEntry> {
    return await this.client.call(this.operations.read,
      { ...options, path: { id: this.id, path }, query: { stat: true } }) as FileEntry;
  }

  async exists(path: string, options: RequestOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Creates a directory, and those above it. */
  async makeDir(path: string, options: RequestOptions = {}): Promise<FileEntry> {
    return await this.client.call(this.operations.change,
      { ...options, path: { id: this.id }, body: { action: "make_directory", path } });
  }

  /** Moves a file or directory. */
  async rename(path: string, to: string, options: RequestOptions = {}): Promise<FileEntry> {
    return await this.client.call(this.operations.change,
      { ...options, path: { id: this.id }, body: { action: "move", path, to } });
  }

  /** Removes a file, or a directory and everything in it. */
  async remove(path: string, options: RequestOptions = {}): Promise<void> {
    await this.client.call(this.operations.remove, { ...options, path: { id: this.id, path } });
  }

  /** A directory as one file. */
  async archive(path: string, format: ArchiveFormat = "tar.gz", options: RequestOptions = {}):
    Promise<ReadableStream<Uint8Array>> {
    const response = await this.client.send(this.operations.read,
      { ...options, path: { id: this.id, path }, query: { archive: format } });
    return response.body ?? new ReadableStream({ start: (each) => each.close() });
  }

  /** Unpacks an archive (tar, tar.gz, zip) into a directory. */
  async unpack(path: string, archive: FileContent, options: RequestOptions = {}): Promise<void> {
    await this.client.send(this.operations.write, { ...options, path: { id: this.id, path },
      query: { unpack: true }, body: bodyOf(archive), repeatable: false });
  }
}

export interface WatchOptions {
  recursive?: boolean | undefined;
  /** Ends the iteration. */
  signal?: AbortSignal | undefined;
  /** Called once changes are seen. */
  onStarted?: (() => void) | undefined;
}

/** Files of a sandbox, whose changes can be watched. */
export class SandboxFiles extends Files {
  /** Yields what changes in a directory: `create`, `write`, `remove`, `rename` and `chmod`. */
  async* watch(path?: string, options: WatchOptions = {}): AsyncGenerator<FileEvent, void> {
    const { recursive, signal, onStarted } = options;
    try {
      for await (const event of this.client.events("watchFiles", [],
        { path: { id: this.id }, query: { path, recursive }, signal })) {
        if (event.type === "started") onStarted?.();
        else if (event.type !== "keepalive") yield event as unknown as FileEvent;
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }
}
