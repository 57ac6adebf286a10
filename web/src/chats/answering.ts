// SPDX-License-Identifier: MIT
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { GenerateRequest, TokenTrace } from "../host/protocol.ts";
import type { End, Listener, Started, Stream, Streams, Token } from "../host/streams.ts";
import type { Answering, Message } from "./message.ts";

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

  constructor(
    private readonly streams: Pick<Streams, "generate" | "attach">,
    online: ReadonlySignal<boolean>,
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
    return this.add(new Run(place, this.streams, request, (run) => this.remove(run)));
  }

  /** Goes on with an answer that ran when the page was left. */
  resume(place: Place): Run {
    return this.add(new Run(place, this.streams, undefined, (run) => this.remove(run)));
  }

  private add(run: Run): Run {
    this.runs.value = new Map(this.runs.peek()).set(run.id, run);
    run.goOn();
    return run;
  }

  private remove(run: Run): void {
    const runs = new Map(this.runs.peek());
    runs.delete(run.id);
    this.runs.value = runs;
  }
}

/** One answer while it runs. A lost connection is no end: the host goes on, and so does the run once there is a new one. */
export class Run implements Listener {
  readonly id: string;
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
    this.id = place.get().id;
  }

  /** Asks the host to go on with what it has of the answer, or for the answer. Does nothing while it does so. */
  goOn(): void {
    if (this.stream !== undefined) return;
    const { stream, seq } = this.answering;
    if (stream !== undefined) this.stream = this.streams.attach(stream, seq, this);
    else if (this.request !== undefined) this.stream = this.streams.generate(this.request, this);
    else this.end({ reason: "error", error: gone });
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
    this.pieces.push(trace === undefined ? { text } : { text, trace });
    const change: Partial<Answering> = { seq, tokens: tokens + 1, first: first ?? this.now() };
    if (phase !== "paused") change.phase = "streaming";
    this.place.change(
      (m) => ({ ...m, content: m.content + text, answer: { ...this.answering, ...change } }),
      false,
    );
  }

  end({ reason, usage, timings, error }: End): void {
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
    this.place.change((m) => ({ ...m, answer: { ...this.answering, ...change } }), soon);
  }
}

const gone = {
  type: "answer_gone",
  message: "This answer was not begun before the page was left.",
};
