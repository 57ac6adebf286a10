// SPDX-License-Identifier: MIT
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { ClientFrame, GenerateRequest, Sampling } from "../host/protocol.ts";
import type { Streams } from "../host/streams.ts";
import type { Message } from "./message.ts";
import { type Begin, Run } from "./run.ts";
import { alone, type Sharing } from "./tabs.ts";

export type { Piece, Run } from "./run.ts";

/** Where the message of an answer is. */
export interface Place {
  readonly message: ReadonlySignal<Message>;
  /** soon: the change should be in the store at once; else it may wait a moment. */
  change(change: (message: Message) => Message, soon: boolean): void;
}

/** The answers that run, of all chats. */
export class Answers {
  private readonly runs = signal<ReadonlyMap<string, Run>>(new Map());
  private readonly claims = new Map<string, () => void>(); // by answer: gives it up to other tabs

  constructor(
    private readonly streams: Pick<Streams, "generate" | "attach" | "fork">,
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
    return this.lead(place, this.asking(request));
  }

  /** Has the host write the message as another answer goes on from where that is. */
  fork(of: Run, place: Place, sampling: Sampling): Run {
    return this.lead(place, (listener) => of.fork(sampling, listener));
  }

  /** Goes on with an answer that ran when the page was left, or has another tab do so. request is for one that the host had not begun. */
  resume(place: Place, request?: GenerateRequest): Run {
    const run = this.add(place, request && this.asking(request));
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

  private asking(request: GenerateRequest): Begin {
    return (listener) => this.streams.generate(request, listener);
  }

  private lead(place: Place, begin: Begin): Run {
    const run = this.add(place, begin);
    this.claim(run, () => {});
    run.goOn();
    return run;
  }

  private add(place: Place, begin: Begin | undefined): Run {
    const run = new Run(place, this.streams, begin, (ended) => this.remove(ended));
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
