// SPDX-License-Identifier: MIT

// Shares one WebSocket among the answers that are streamed over it.
import { effect } from "@preact/signals";
import type { Connection } from "./connection.ts";
import { type FileFrames, filesOf } from "./fileframes.ts";
import type {
  BranchesFrame,
  ClientFrame,
  EndFrame,
  ErrorFrame,
  GenerateRequest,
  HostError,
  HostFrame,
  OutputFrame,
  PartsFrame,
  RewoundFrame,
  Sampling,
  StartedFrame,
  TokenFrame,
} from "./protocol.ts";

export type Started = Omit<StartedFrame, "type" | "id">;
export type Token = Omit<TokenFrame, "type" | "id">;
export type Parts = Omit<PartsFrame, "type" | "id">;
export type Rewound = Omit<RewoundFrame, "type" | "id">;
export type Output = Omit<OutputFrame, "type" | "id">;
export type Branches = Omit<BranchesFrame, "type" | "id">;
export type End = Omit<EndFrame, "type" | "id">;

/**
 * What a stream tells: at most one start, any number of tokens, what they are parts of, and what
 * is taken back, then exactly one end, or that its connection is lost.
 */
export interface StreamListener {
  started(started: Started): void;
  token(token: Token): void;
  parts(parts: Parts): void;
  rewound(rewound: Rewound): void;
  /** A plugin tells something. */
  output(output: Output): void;
  /** A program tells of its branches. */
  branches(branches: Branches): void;
  /** It is held, or goes on. */
  paused(paused: boolean): void;
  /** The host would not take a frame of this type: nothing has changed. */
  refused(frame: ClientFrame["type"]): void;
  end(end: End): void;
  lost(): void;
}

/** For how long the host goes on with an answer whose connection is lost, in milliseconds. */
export const detachFor = 600_000;

/**
 * An answer that runs on the host. What the host refuses of steering it goes to Streams.refused:
 * the answer goes on.
 */
export class Stream {
  constructor(
    readonly id: string,
    private readonly send: (frame: ClientFrame) => boolean,
  ) {}

  /** Asks the host to stop; the end still comes through the listener. */
  cancel(): void {
    this.send({ type: "cancel", id: this.id });
  }

  pause(): void {
    this.send({ type: "pause", id: this.id });
  }

  resume(): void {
    this.send({ type: "resume", id: this.id });
  }

  /** Changes sampling parameters from the next token on. */
  set(sampling: Sampling): void {
    this.send({ type: "set", id: this.id, sampling });
  }

  /** Puts text into the answer as if the model had written it. */
  inject(text: string): void {
    this.send({ type: "inject", id: this.id, text });
  }

  /** Takes back the last tokens. */
  rewind(tokens: number): void {
    this.send({ type: "rewind", id: this.id, tokens });
  }
}

/** Many answers over one connection, told apart by their ids. */
export class Streams {
  private readonly listeners = new Map<string, StreamListener>();
  private count = 0;

  /**
   * refused gets what the host refuses of an answer that goes on, such as a steering frame. files
   * sends what requests name.
   */
  constructor(
    private readonly connection: Connection,
    private readonly refused: (error: HostError) => void,
    private readonly files?: Pick<FileFrames, "load" | "send">,
  ) {
    connection.listen((frame) => this.receive(frame));
    effect(() => {
      if (connection.status.value.kind !== "online") this.loseAll();
    });
  }

  /** Starts an answer that outlives its connection by detachFor. */
  generate(request: GenerateRequest, listener: StreamListener): Stream {
    const options = { detach_ms: detachFor, parts: true };
    const frame = (id: string): ClientFrame => ({ type: "generate", id, request, ...options });
    const files = filesOf(request);
    return files.length === 0 ? this.open(listener, frame) : this.openWith(files, listener, frame);
  }

  /** Starts an answer that goes on where another is, with a new seed and what sampling changes. */
  fork(of: Stream, sampling: Sampling, listener: StreamListener): Stream {
    const options = { sampling, detach_ms: detachFor, parts: true };
    return this.open(listener, (as) => ({ type: "fork", id: of.id, as, ...options }));
  }

  /**
   * Goes on with an answer by the name that the host gave it, after event number seq; -1: from its
   * beginning.
   */
  attach(stream: string, seq: number, listener: StreamListener): Stream {
    return this.open(listener, (id) => ({ type: "attach", id, stream, after: seq }));
  }

  private open(listener: StreamListener, frame: (id: string) => ClientFrame): Stream {
    const id = `s${++this.count}`;
    this.listeners.set(id, listener);
    if (!this.connection.send(frame(id))) {
      this.listeners.delete(id);
      queueMicrotask(() => listener.lost()); // not before the caller has the stream
    }
    return new Stream(id, (f) => this.connection.send(f));
  }

  /**
   * Begins a stream once its files are read and sent. Until then the host knows nothing of it, and
   * what it is to do with it waits.
   */
  private openWith(
    files: readonly string[],
    listener: StreamListener,
    frame: (id: string) => ClientFrame,
  ): Stream {
    const id = `s${++this.count}`;
    let begun = false;
    const later: ClientFrame[] = [];
    const end = (end: End) => this.listeners.delete(id) && listener.end(end);
    this.listeners.set(id, listener);
    void this.files?.load(files).then((loaded) => {
      if (this.listeners.get(id) !== listener) return; // it was cancelled, or the connection is lost
      if (loaded === undefined) return end({ reason: "error", error: fileGone });
      begun = true;
      this.files?.send(loaded);
      for (const each of [frame(id), ...later]) this.connection.send(each);
    });
    return new Stream(id, (frame) => {
      if (begun) return this.connection.send(frame);
      if (frame.type === "cancel") end({ reason: "cancelled" });
      else later.push(frame);
      return false;
    });
  }

  private receive(frame: HostFrame): void {
    if (frame.id === undefined) {
      // An error of no answer is one of the connection; watch frames have their own listener.
      if (frame.type === "error" && frame.frame !== "watch") this.refused(frame.error);
      return;
    }
    const listener = this.listeners.get(frame.id);
    switch (frame.type) {
      case "started":
        listener?.started(frame);
        break;
      case "token":
        listener?.token(frame);
        break;
      case "parts":
        listener?.parts(frame);
        break;
      case "rewound":
        listener?.rewound(frame);
        break;
      case "output":
        listener?.output(frame);
        break;
      case "branches":
        listener?.branches(frame);
        break;
      case "paused":
      case "resumed":
        listener?.paused(frame.type === "paused");
        break;
      case "end":
        this.listeners.delete(frame.id); // first: the listener may start the next stream
        listener?.end(frame);
        break;
      case "error":
        this.refuse(frame, frame.id);
        break;
    }
  }

  /** A refused frame that was to begin a stream ends it; any other leaves it as it is. */
  private refuse(frame: ErrorFrame, id: string): void {
    if (frame.frame !== "generate" && frame.frame !== "attach" && frame.frame !== "fork") {
      this.refused(frame.error);
      if (frame.frame !== undefined) this.listeners.get(id)?.refused(frame.frame);
      return;
    }
    const begun = frame.as ?? id;
    const listener = this.listeners.get(begun);
    this.listeners.delete(begun);
    listener?.end({ reason: "error", error: frame.error });
  }

  private loseAll(): void {
    const lost = [...this.listeners.values()];
    this.listeners.clear();
    for (const listener of lost) listener.lost();
  }
}

const fileGone: HostError = { code: "file_gone", message: "" }; // erroradvice.ts has the words
