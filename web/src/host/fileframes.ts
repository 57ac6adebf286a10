// SPDX-License-Identifier: MIT

// Sends pictures and sounds in binary frames of the WebSocket, each once.
import { effect } from "@preact/signals";
import { mostFileBytes, mostFiles } from "../media/medialimits.ts";
import type { Connection } from "./connection.ts";
import type { GenerateRequest } from "./protocol.ts";

const scheme = "frame:";

/** How a request names a file that is sent in a binary frame. */
export function frameURL(file: string): string {
  return scheme + file;
}

/** The files that a request names, each once. */
export function filesOf({ messages }: GenerateRequest): string[] {
  const urls = messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.map((part) =>
          part.type === "image_url"
            ? part.image_url.url
            : part.type === "input_audio"
              ? part.input_audio.data
              : "",
        ),
  );
  const files = urls.filter((url) => url.startsWith(scheme)).map((url) => url.slice(scheme.length));
  return [...new Set(files)];
}

/** The bytes of files, by their names. */
export type Loaded = ReadonlyMap<string, Uint8Array>;

/**
 * The files of requests, on their way to the host in binary frames. It keeps those of a
 * connection, the newest first, so each is sent once while the host has room for it.
 */
export class FileFrames {
  private readonly sent = new Map<string, number>(); // bytes, in the order in which the host forgets them

  /** most is how many bytes the host keeps. */
  constructor(
    private readonly connection: Pick<Connection, "status" | "sendBytes">,
    private readonly read: (file: string) => Promise<Blob | undefined>,
    private readonly most = () => mostFileBytes(),
  ) {
    effect(() => {
      if (connection.status.value.kind !== "online") this.sent.clear();
    });
  }

  /** Reads files; undefined if one of them is not in the browser any more. */
  async load(files: readonly string[]): Promise<Loaded | undefined> {
    const loaded = new Map<string, Uint8Array>();
    for (const file of files) {
      const bytes = await this.read(file);
      if (bytes === undefined) return undefined;
      loaded.set(file, new Uint8Array(await bytes.arrayBuffer()));
    }
    return loaded;
  }

  /**
   * Sends the files of a request that the host has not. Where it would forget some of them for the
   * others, all are sent anew.
   */
  send(files: Loaded): void {
    const missing = [...files].filter(([file]) => !this.sent.has(file));
    const size = missing.reduce((sum, [, bytes]) => sum + bytes.length, this.size);
    const fits = size <= this.most() && this.sent.size + missing.length <= mostFiles;
    for (const [file, bytes] of fits ? missing : missing.length > 0 ? files : []) this.put(file, bytes);
  }

  private put(file: string, bytes: Uint8Array): void {
    const name = new TextEncoder().encode(file);
    const frame = new Uint8Array(1 + name.length + bytes.length);
    frame[0] = name.length;
    frame.set(name, 1);
    frame.set(bytes, 1 + name.length);
    if (!this.connection.sendBytes(frame)) return;
    this.sent.delete(file);
    this.sent.set(file, bytes.length);
    for (const oldest of this.sent.keys()) {
      if (this.sent.size <= mostFiles && (this.sent.size === 1 || this.size <= this.most())) break;
      this.sent.delete(oldest);
    }
  }

  private get size(): number {
    return [...this.sent.values()].reduce((sum, size) => sum + size, 0);
  }
}
