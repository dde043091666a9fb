// SPDX-License-Identifier: Apache-2.0

/** How much is kept for readers that have not come yet, and how far readers may be behind. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Items for any number of readers, in bounded memory: as long as somebody reads, `add` waits for the slowest; what nobody
 *  reads is forgotten, the oldest first. */
export class Backlog<T> {
  private items: { item: T; size: number }[] = [];
  private size = 0;
  /** The number of the first item that is still here. */
  private first = 0;
  /** The number of the item that comes after all that anybody has read. */
  private unread = 0;
  private ended = false;
  private readonly readers = new Set<{ at: number }>();
  private wake: () => void = () => {};
  private change = new Promise<void>((resolve) => { this.wake = resolve; });

  constructor(private readonly sizeOf: (item: T) => number) {}

  /** Adds an item; resolves once there is room for more. */
  async add(item: T): Promise<void> {
    const size = this.sizeOf(item);
    this.items.push({ item, size });
    this.size += size;
    this.tell();
    while (this.size > MOST_BYTES && this.items.length > 1) {
      if ([...this.readers].some((each) => each.at <= this.first)) {
        await this.change;
      } else {
        this.size -= this.items.shift()?.size ?? 0;
        this.first++;
      }
    }
  }

  /** No more items come. */
  end(): void {
    this.ended = true;
    this.tell();
  }

  /** All items, or those that nobody has read, and those that come, until the end. */
  async* read(from: "start" | "unread"): AsyncGenerator<T, void> {
    const reader = { at: from === "start" ? this.first : Math.max(this.unread, this.first) };
    this.readers.add(reader);
    try {
      for (;;) {
        const next = this.items[reader.at - this.first];
        if (next) {
          reader.at++;
          this.unread = Math.max(this.unread, reader.at);
          this.tell();
          yield next.item;
        } else if (this.ended) {
          return;
        } else {
          await this.change;
        }
      }
    } finally {
      this.readers.delete(reader);
      this.tell();
    }
  }

  private tell(): void {
    const wake = this.wake;
    this.change = new Promise((resolve) => { this.wake = resolve; });
    wake();
  }
}
