// SPDX-License-Identifier: MIT
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { ClientFrame, GenerateRequest, HostError, TokenTrace } from "../host/protocol.ts";
import { type End, type Listener, type Started, Stream, type Streams, type Token } from "../host/streams.ts";
import { cleanTrace } from "../trace/clean.ts";
import { mostTraced } from "../trace/items.ts";
import type { Answering, Message } from "./message.ts";
import { alone, type Sharing } from "./tabs.ts";

/** Where the message of an answer is. */
export interface Place {
  get(): Message;
  /** soon: the change should be in the store at once; else it may wait a moment. */
  change(change: (message: Message) => Message, soon: boolean): void;
}

/** One token of an answer. */
export interface Piece {
  text: string;
  trace?: TokenTrace;
}

/** The answers that run, of all chats. */
export class Answers {
  private readonly runs = signal<ReadonlyMap<string, Run>>(new Map());
  private readonly claims = new Map<string, () => void>(); // by answer: gives it up to other tabs

  constructor(
    private readonly streams: Pick<Streams, "generate" | "attach">,
    online: ReadonlySignal<boolean>,
    private readonly sharing: Sharing = alone,
  ) {
    effect(() => {
      if (!online.value) return;
      for (const run of this.runs.peek().values()) run.goOn();
    });
  }

  /** By the id of their messages. */
  get running(): ReadonlySignal<ReadonlyMap<string, Run>> {
    return this.runs;
  }

  /** Has the host write the message. */
  start(place: Place, request: GenerateRequest): Run {
    const run = this.add(place, request);
    this.claim(run, () => {});
    run.goOn();
    return run;
  }

  /** Goes on with an answer that ran when the page was left, or has another tab do so. request is for one that the host had not begun. */
  resume(place: Place, request?: GenerateRequest): Run {
    const run = this.add(place, request);
    run.watch((frame) => this.sharing.steer(run.id, frame));
    this.claim(run, () => run.lead());
    return run;
  }

  /** The page is left. An answer that the host has not named cannot be found again, so it is asked for anew then. */
  leave(): void {
    for (const run of this.runs.peek().values()) run.leave();
  }

  /** Forgets an answer that has ended in another tab. */
  ended(id: string): void {
    const run = this.runs.peek().get(id);
    if (run?.watching) this.remove(run);
  }

  /** Does what another tab asks of an answer that this one follows. */
  steer(id: string, frame: ClientFrame): void {
    const run = this.runs.peek().get(id);
    if (run !== undefined && !run.watching) run.obey(frame);
  }

  private add(place: Place, request: GenerateRequest | undefined): Run {
    const run = new Run(place, this.streams, request, (ended) => this.remove(ended));
    this.runs.value = new Map(this.runs.peek()).set(run.id, run);
    return run;
  }

  private claim(run: Run, granted: () => void): void {
    const giveUp = this.sharing.claim(run.id, granted);
    if (this.runs.peek().has(run.id)) this.claims.set(run.id, giveUp);
    else giveUp(); // it ended at once
  }

  private remove(run: Run): void {
    this.claims.get(run.id)?.();
    this.claims.delete(run.id);
    const runs = new Map(this.runs.peek());
    runs.delete(run.id);
    this.runs.value = runs;
  }
}

/** One answer while it runs. A lost connection is no end: the host goes on, and so does the run once there is a new one. */
export class Run implements Listener {
  readonly id: string;
  readonly chat: string;
  watching = false; // another tab follows the answer, and tells of it
  before = 0; // tokens of the answer before the first of pieces: it went on here
  readonly pieces: Piece[] = []; // grows; the message changes with it
  private stream: Stream | undefined; // none: not asked yet, or the connection is lost

  /** Without a request it can only go on with what runs on the host. */
  constructor(
    private readonly place: Place,
    private readonly streams: Pick<Streams, "generate" | "attach">,
    private readonly request: GenerateRequest | undefined,
    private readonly ended: (run: Run) => void,
    private readonly now: () => number = Date.now,
  ) {
    const { id, chat } = place.get();
    this.id = id;
    this.chat = chat;
  }

  /** Asks the host to go on with what it has of the answer, or for the answer. Does nothing while it does so. */
  goOn(): void {
    if (this.stream !== undefined) return;
    const { stream, seq } = this.answering;
    if (stream !== undefined) this.stream = this.streams.attach(stream, seq, this);
    else if (this.request !== undefined) this.stream = this.streams.generate(this.request, this);
    else this.end({ reason: "error", error: unbegun });
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
    if (!this.watching) return;
    this.watching = false;
    this.stream = undefined;
    if (this.answering.phase === "done") this.ended(this);
    else this.goOn();
  }

  leave(): void {
    if (!this.watching && this.answering.stream === undefined) this.stream?.cancel();
  }

  /** Does what a frame says that was made for this answer in another tab. */
  obey(frame: ClientFrame): void {
    if (frame.type === "cancel") this.stop();
    else if (frame.type === "pause") this.pause();
    else if (frame.type === "resume") this.resume();
    else if (frame.type === "set") this.stream?.set(frame.sampling);
    else if (frame.type === "inject") this.stream?.inject(frame.text);
    else if (frame.type === "rewind") this.stream?.rewind(frame.tokens);
  }

  /** Stops the answer: what is still on its way is not shown. */
  stop(): void {
    this.note({ phase: "stopping" });
    if (this.stream === undefined) this.end({ reason: "cancelled" });
    else this.stream.cancel();
  }

  pause(): void {
    this.stream?.pause();
    this.note({ phase: "paused" });
  }

  resume(): void {
    this.stream?.resume();
    this.note({ phase: this.answering.tokens > 0 ? "streaming" : "waiting" });
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
    this.pieces.push(piece(text, this.before + this.pieces.length < mostTraced ? trace : undefined));
    const change: Partial<Answering> = { seq, tokens: tokens + 1, first: first ?? this.now() };
    if (phase !== "paused") change.phase = "streaming";
    this.place.change(
      (m) => ({ ...m, content: m.content + text, answer: { ...this.answering, ...change } }),
      false,
    );
  }

  end({ reason, usage, timings, trace, error: told }: End): void {
    if (trace !== undefined) this.pieces.push(piece("", trace));
    const error = told?.code === "unknown_stream" || told?.code === "events_gone" ? forgotten : told;
    this.ended(this);
    const { stream: _, ...answering } = this.answering;
    const outcome = { reason, ...(usage && { usage }), ...(timings && { timings }), ...(error && { error }) };
    this.place.change((m) => ({ ...m, answer: { ...answering, phase: "done", outcome } }), true);
  }

  lost(): void {
    this.stream = undefined;
    if (this.answering.phase === "stopping") this.end({ reason: "cancelled" });
    else this.note({ phase: "lost" });
  }

  private get answering(): Answering {
    const { answer } = this.place.get();
    if (answer === undefined) throw new Error(`message ${this.id} is no answer`);
    return answer;
  }

  private note(change: Partial<Answering>, soon = false): void {
    if (this.watching) return; // the other tab notes it
    this.place.change((m) => ({ ...m, answer: { ...this.answering, ...change } }), soon);
  }
}

function piece(text: string, trace: unknown): Piece {
  const clean = cleanTrace(trace);
  return clean === undefined ? { text } : { text, trace: clean };
}

const unbegun: HostError = {
  type: "answer_gone",
  message: "This answer had not begun when the connection was lost or the page was left.",
};

const forgotten: HostError = {
  type: "answer_gone",
  message:
    "The server does not have the rest of this answer any more: it was restarted, or this page was away for too long.",
};
