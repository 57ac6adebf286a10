// SPDX-License-Identifier: MIT

// One answer while it runs: what the host sends, and how it is steered.
import type { ReadonlySignal } from "@preact/signals";
import type { BranchChange, ClientFrame, HostError, Sampling } from "../host/protocol.ts";
import {
  type Branches,
  type End,
  type Output,
  type Parts,
  type Rewound,
  type Started,
  Stream,
  type StreamListener,
  type Streams,
  type Token,
} from "../host/streams.ts";
import { cleanTrace } from "../trace/cleantrace.ts";
import { mostTraced, type Piece } from "../trace/tokenitems.ts";
import { withParts } from "./answerparts.ts";
import type { Answering, Message, Outcome } from "./message.ts";

/** More changes of branches than a host tells of one answer. */
const mostChanges = 1 << 17;

/** Where the message of an answer is. */
export interface MessageHandle {
  readonly message: ReadonlySignal<Message>;
  /**
   * soon: the change should be in the store at once, and the result waits for that; else it may
   * come later.
   */
  change(change: (message: Message) => Message, soon: boolean): Promise<void>;
  /** Takes over what is in the store: another tab may have written it. Never rejects. */
  read(): Promise<void>;
}

/** Asks the host for an answer; undefined where it cannot be asked any more. */
export type BeginAnswer = (listener: StreamListener) => Stream | undefined;

/**
 * One answer while it runs. A lost connection is no end: the host goes on, and so does the run
 * once there is a new one.
 */
export class RunningAnswer implements StreamListener {
  readonly id: string;
  readonly chat: string;
  watching = false; // another tab follows the answer, and tells of it
  before = 0; // tokens of the answer before the first of pieces: it went on here
  readonly pieces: Piece[] = []; // changes, and the message with it
  readonly changes: BranchChange[] = []; // of its branches, where a program writes it; grows as pieces do
  resumed = false; // it was begun by another page, which was told what came before
  private stream: Stream | undefined; // none: not asked yet, or the connection is lost
  private wasSet: Sampling | undefined; // what was set before the last change
  private begun = false; // the host was asked for it, or to go on with it
  private held = false; // it was paused when the connection was lost
  private abandoned = false; // what still comes of it counts no more

  /** Without begin it can only go on with what runs on the host. */
  constructor(
    private readonly place: MessageHandle,
    private readonly streams: Pick<Streams, "attach" | "fork">,
    private readonly begin: BeginAnswer | undefined,
    private readonly ended: (run: RunningAnswer, kept?: Promise<void>) => void, // kept: its end is in the store
    private readonly now: () => number = Date.now,
  ) {
    const { id, chat } = place.message.peek();
    this.id = id;
    this.chat = chat;
  }

  /**
   * What the answer is called in the frames of this connection; undefined while this tab does not
   * follow it.
   */
  get name(): string | undefined {
    return this.watching ? undefined : this.stream?.id;
  }

  /**
   * The server that has the answer, of several behind a proxy; "" where that is not known, or
   * another tab follows the answer.
   */
  get home(): string {
    const stream = this.watching ? "" : (this.answering.stream ?? "");
    return stream.slice(0, Math.max(stream.lastIndexOf("."), 0));
  }

  /** The answer as it is now. */
  get message(): ReadonlySignal<Message> {
    return this.place.message;
  }

  /**
   * Asks the host to go on with what it has of the answer, or for the answer. Does nothing while
   * it does so.
   */
  goOn(): void {
    if (this.stream !== undefined) return;
    const { stream, seq, phase } = this.answering;
    this.resumed ||= stream !== undefined && !this.begun;
    this.begun = true;
    this.stream = stream === undefined ? this.begin?.(this) : this.streams.attach(stream, seq, this);
    if (this.stream === undefined) this.end({ reason: "error", error: unbegun });
    else if (phase === "stopping") this.stream.cancel();
    else {
      // Where it is paused the host says so, unless it had not begun and is asked for anew.
      if (stream === undefined && (phase === "paused" || this.held)) this.stream.pause();
      this.note({ phase: this.moving });
    }
    this.held = false;
  }

  /** Leaves the answer to another tab, which gets what is to be done with it. */
  watch(send: (frame: ClientFrame) => void): void {
    this.watching = true;
    this.stream = new Stream(this.id, (frame) => {
      send(frame);
      return true;
    });
  }

  /** Follows the answer itself: no other tab does any more. */
  lead(): void {
    if (!this.watching || this.abandoned) return;
    this.watching = false;
    this.stream = undefined;
    if (this.answering.phase === "done") this.ended(this);
    else this.goOn();
  }

  /**
   * Stops an answer whose message is gone. It may come back, and even go on, before the host has
   * stopped.
   */
  abandon(): void {
    this.stop();
    this.abandoned = true;
    this.ended(this);
  }

  leave(): void {
    if (!this.watching && this.answering.stream === undefined) this.stream?.cancel();
  }

  /** Does what a frame says that was made for this answer in another tab. */
  obey(frame: ClientFrame): void {
    if (frame.type === "cancel") this.stop();
    else if (frame.type === "pause") this.pause();
    else if (frame.type === "resume") this.resume();
    else if (frame.type === "set") this.set(frame.sampling);
    else if (frame.type === "inject") this.inject(frame.text);
    else if (frame.type === "rewind") this.rewind(frame.tokens);
  }

  /**
   * Stops the answer: what is still on its way is not shown. Without a connection the host is told
   * once there is one.
   */
  stop(): void {
    this.note({ phase: "stopping" }, true);
    if (this.stream !== undefined) this.stream.cancel();
    else if (this.answering.stream === undefined) this.end({ reason: "cancelled" });
  }

  /** Holds the answer. As with all that follows, the message changes once the host has done it. */
  pause(): void {
    this.stream?.pause();
  }

  resume(): void {
    this.stream?.resume();
  }

  /** Takes back the last tokens. */
  rewind(tokens: number): void {
    this.stream?.rewind(tokens);
  }

  /** Puts text into the answer as if the model had written it. */
  inject(text: string): void {
    this.stream?.inject(text);
  }

  /** Changes sampling parameters from the next token on. */
  set(sampling: Sampling): void {
    if (this.stream === undefined) return;
    this.stream.set(sampling);
    this.wasSet = this.answering.set;
    this.note({ set: { ...this.wasSet, ...sampling } });
  }

  /** Asks for another answer that goes on from here. Only who follows this one can. */
  fork(sampling: Sampling, listener: StreamListener): Stream | undefined {
    if (this.stream === undefined || this.watching) return undefined;
    return this.streams.fork(this.stream, sampling, listener);
  }

  started({ stream, model, seed, prompt_tokens, cached_tokens }: Started): void {
    const seq = Math.max(0, this.answering.seq);
    const drawn = seed === undefined ? {} : { seed };
    this.note(
      { stream, model, ...drawn, promptTokens: prompt_tokens, cachedTokens: cached_tokens, seq },
      true,
    );
  }

  token({ seq, text, trace }: Token): void {
    const { phase, tokens, first, seq: seen } = this.answering;
    if (phase === "stopping" || seq <= seen) return;
    if (this.pieces.length === 0) this.before = tokens;
    const come = piece(text, this.before + this.pieces.length < mostTraced ? trace : undefined);
    this.pieces.push(come);
    const change: Partial<Answering> = { seq, tokens: tokens + 1, first: first ?? this.now() };
    if (come.trace !== undefined) change.traced = true;
    const backed = come.trace?.taken_back?.length ?? 0;
    if (backed > 0) change.backed = (this.answering.backed ?? 0) + backed;
    if (phase !== "paused") change.phase = "streaming";
    this.note(change);
  }

  parts(parts: Parts): void {
    if (this.answering.phase === "stopping") return;
    void this.change((m) => withParts(m, parts, this.now()), false);
  }

  rewound({ seq, tokens: taken }: Rewound): void {
    const { tokens, seq: seen } = this.answering;
    if (seq <= seen) return;
    this.pieces.length = Math.max(0, this.pieces.length - taken);
    this.note({ seq, tokens: Math.max(0, tokens - taken) }, true);
  }

  output({ seq, ...output }: Output): void {
    if (this.answering.phase === "stopping" || seq <= this.answering.seq) return;
    if (this.watching) return; // the other tab notes it
    const outputs = [...(this.place.message.peek().outputs ?? []), output];
    void this.change((m) => ({ ...m, outputs, answer: { ...answeringOf(m), seq } }), false);
  }

  branches({ seq, branches }: Branches): void {
    if (seq <= this.answering.seq) return;
    if (Array.isArray(branches) && this.changes.length < mostChanges) this.changes.push(...branches);
    this.note({ seq });
  }

  paused(paused: boolean): void {
    if (this.answering.phase !== "stopping") this.note({ phase: paused ? "paused" : this.moving }, true);
  }

  refused(frame: ClientFrame["type"]): void {
    if (frame !== "set") return;
    const { set: _, ...answering } = this.answering;
    const before = this.wasSet && { set: this.wasSet };
    void this.change((m) => ({ ...m, answer: { ...answering, ...before } }), false);
  }

  end({ reason, usage, timings, trace, error: told }: End): void {
    if (this.abandoned) return;
    if (told?.code === "shutting_down" && this.answering.stream === undefined) {
      this.lost(); // the host ends the connection when its other answers are sent; the next host is asked again
      return;
    }
    if (trace !== undefined) this.pieces.push(piece("", trace));
    const { stream: _, ...answering } = this.answering;
    const unknown = told?.code === "unknown_stream" || told?.code === "events_gone";
    const error = unknown ? forgotten : told;
    const outcome: Outcome =
      unknown && answering.phase === "stopping" // the host has given it up by itself
        ? { reason: "cancelled" }
        : { reason, ...(usage && { usage }), ...(timings && { timings }), ...(error && { error }) };
    const kept = this.change((m) => ({ ...m, answer: { ...answering, phase: "done", outcome } }), true);
    this.ended(this, kept);
  }

  lost(): void {
    this.stream = undefined;
    if (this.abandoned) return;
    const { phase, stream } = this.answering;
    this.held ||= phase === "paused";
    if (phase !== "stopping") this.note({ phase: "lost" });
    else if (stream === undefined) this.end({ reason: "cancelled" });
  }

  private get moving(): "streaming" | "waiting" {
    return this.answering.first === undefined ? "waiting" : "streaming";
  }

  private get answering(): Answering {
    return answeringOf(this.place.message.peek());
  }

  private note(change: Partial<Answering>, soon = false): void {
    if (this.watching) return; // the other tab notes it
    void this.change((m) => ({ ...m, answer: { ...answeringOf(m), ...change } }), soon);
  }

  private change(change: (message: Message) => Message, soon: boolean): Promise<void> {
    return this.abandoned ? Promise.resolve() : this.place.change(change, soon);
  }
}

function answeringOf({ id, answer }: Message): Answering {
  if (answer === undefined) throw new Error(`message ${id} is no answer`); // untranslated: a mistake of ours
  return answer;
}

function piece(text: string, trace: unknown): Piece {
  const clean = cleanTrace(trace);
  return clean === undefined ? { text } : { text, trace: clean };
}

// erroradvice.ts has the words.
const unbegun: HostError = { type: "answer_gone", code: "answer_unbegun", message: "" };
const forgotten: HostError = { type: "answer_gone", code: "answer_forgotten", message: "" };
