// SPDX-License-Identifier: MIT

// The answers that run, of all chats: each is begun, or taken over from another tab, here.
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { ClientFrame, GenerateRequest, Sampling } from "../host/protocol.ts";
import type { Streams } from "../host/streams.ts";
import { type Answering, type Message, unkept } from "./message.ts";
import { type BeginAnswer, type MessageHandle, RunningAnswer } from "./runninganswer.ts";
import { type AnswerSharing, onlyTab } from "./tabs.ts";

/** The answers that run, of all chats. */
export class Answers {
  private readonly runs = signal<ReadonlyMap<string, RunningAnswer>>(new Map());
  whenEnded: (run: RunningAnswer) => void = () => {}; // is told of answers that this tab followed
  private readonly claims = new Map<RunningAnswer, () => void>(); // gives an answer up to other tabs

  constructor(
    private readonly streams: Pick<Streams, "generate" | "attach" | "fork">,
    online: ReadonlySignal<boolean>,
    private readonly sharing: AnswerSharing = onlyTab,
  ) {
    effect(() => {
      if (!online.value) return;
      for (const run of this.runs.peek().values()) run.goOn();
    });
  }

  /** By the id of their messages. */
  get running(): ReadonlySignal<ReadonlyMap<string, RunningAnswer>> {
    return this.runs;
  }

  /**
   * The server that has what runs, of several behind a proxy: a connection to go on has to lead
   * there. "": any.
   */
  get home(): string {
    for (const run of this.runs.peek().values()) if (run.home !== "") return run.home;
    return "";
  }

  /** Has the host write the message. */
  start(place: MessageHandle, request: GenerateRequest): RunningAnswer {
    return this.lead(place, this.asking(request));
  }

  /** Has the host write an answer that no chat keeps. */
  startUnkept(request: GenerateRequest): RunningAnswer {
    const fresh = unkept("assistant", "");
    const answer: Answering = { phase: "waiting", model: "", seq: -1, tokens: 0, asked: fresh.created };
    const message = signal<Message>({ ...fresh, answer });
    const change = async (change: (message: Message) => Message) => {
      message.value = change(message.peek());
    };
    return this.start({ message, change, read: async () => {} }, request);
  }

  /** Stops an answer, if it runs. */
  stop(run: RunningAnswer): void {
    if (this.runs.peek().get(run.id) === run) run.stop();
  }

  /** Has the host write the message as another answer goes on from where that is. */
  fork(of: RunningAnswer, place: MessageHandle, sampling: Sampling): RunningAnswer {
    return this.lead(place, (listener) => of.fork(sampling, listener));
  }

  /**
   * Goes on with an answer that ran when the page was left, or has another tab do so. request is
   * for one that the host had not begun.
   */
  resume(place: MessageHandle, request?: GenerateRequest): RunningAnswer {
    const run = this.add(place, request && this.asking(request));
    run.watch((frame) => this.sharing.steer(run.id, frame));
    const giveUp = this.sharing.claim(run.id, () => void place.read().then(() => run.lead()));
    this.claims.set(run, giveUp);
    return run;
  }

  /**
   * The page is left. An answer that the host has not named cannot be found again, so it is asked
   * for anew then.
   */
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

  private asking(request: GenerateRequest): BeginAnswer {
    return (listener) => this.streams.generate(request, listener);
  }

  private lead(place: MessageHandle, begin: BeginAnswer): RunningAnswer {
    const run = this.add(place, begin);
    this.claims.set(run, this.sharing.hold(run.id));
    run.goOn();
    return run;
  }

  private add(place: MessageHandle, begin: BeginAnswer | undefined): RunningAnswer {
    const run = new RunningAnswer(place, this.streams, begin, (ended, kept) => this.remove(ended, kept));
    this.runs.value = new Map(this.runs.peek()).set(run.id, run);
    return run;
  }

  /**
   * Forgets a run. Another tab may have it once its end is kept: else that would go on with what
   * has ended.
   */
  private remove(run: RunningAnswer, kept: Promise<void> = Promise.resolve()): void {
    const giveUp = this.claims.get(run);
    this.claims.delete(run);
    if (giveUp !== undefined) void kept.then(giveUp);
    if (this.runs.peek().get(run.id) !== run) return;
    const runs = new Map(this.runs.peek());
    runs.delete(run.id);
    this.runs.value = runs;
    if (!run.watching) this.whenEnded(run);
  }
}
