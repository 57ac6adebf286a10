// SPDX-License-Identifier: MIT
import type { Connection } from "./connection.ts";
import type { EndFrame, GenerateRequest, HostFrame, TokenTrace } from "./protocol.ts";

export type End = Omit<EndFrame, "type" | "id">;

/** What a stream tells: any number of tokens, then exactly one end. */
export interface Listener {
  token(text: string, trace?: TokenTrace): void;
  end(end: End): void;
}

export interface Stream {
  /** Asks the host to stop; the end still comes through the listener. */
  cancel(): void;
}

/** Many streams over one connection, told apart by their ids. */
export class Streams {
  private readonly listeners = new Map<string, Listener>();
  private count = 0;

  constructor(private readonly connection: Connection) {
    connection.frames.listen((frame) => this.receive(frame));
    connection.changes.listen((status) => {
      if (status.kind !== "online") this.endAll();
    });
  }

  generate(request: GenerateRequest, listener: Listener): Stream {
    const id = `s${++this.count}`;
    this.listeners.set(id, listener);
    if (!this.connection.send({ type: "generate", id, request })) this.finish(id, lost);
    return { cancel: () => void this.connection.send({ type: "cancel", id }) };
  }

  private receive(frame: HostFrame): void {
    if (frame.id === undefined) return;
    switch (frame.type) {
      case "token":
        this.listeners.get(frame.id)?.token(frame.text, frame.trace);
        break;
      case "end":
        this.finish(frame.id, frame);
        break;
      case "error":
        this.finish(frame.id, { reason: "error", error: frame.error });
        break;
    }
  }

  private endAll(): void {
    for (const id of [...this.listeners.keys()]) this.finish(id, lost);
  }

  private finish(id: string, end: End): void {
    const listener = this.listeners.get(id);
    this.listeners.delete(id); // first: the listener may start the next stream
    listener?.end(end);
  }
}

const lost: End = {
  reason: "error",
  error: { type: "connection_lost", message: "The connection to Penstock was lost." },
};
