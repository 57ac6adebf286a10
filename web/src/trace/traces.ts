// SPDX-License-Identifier: MIT

// The traces of all answers: recorded while they run, and read from the store later.
import { effect, type ReadonlySignal } from "@preact/signals";
import type { RunningAnswer } from "../chats/runninganswer.ts";
import type { BranchChange } from "../host/protocol.ts";
import { once } from "../once.ts";
import type { Piece } from "./tokenitems.ts";
import type { TraceStore } from "./tracestore.ts";

/** What of a run this page needs. */
export type Recorded = Pick<
  RunningAnswer,
  "id" | "chat" | "before" | "pieces" | "changes" | "resumed" | "watching"
>;

const writeEvery = 2000; // milliseconds
const mostFinished = 3; // answers that stay in memory after their end

/** The tokens of answers with their traces: of those that run, and of those that are kept. */
export class Traces {
  private readonly recordings = new Map<string, Recording>();
  private readonly finished = new Map<string, Recording>(); // the newest last

  /**
   * Records each run of a chat while it runs. open is called when there is something to keep or to
   * look for.
   */
  constructor(
    running: ReadonlySignal<ReadonlyMap<string, Recorded>>,
    private readonly open: () => Promise<TraceStore>,
  ) {
    effect(() => {
      const runs = running.value;
      for (const [id, recording] of this.recordings) if (!runs.has(id)) this.end(id, recording);
      for (const run of runs.values())
        if (run.chat !== "" && !this.recordings.has(run.id))
          this.recordings.set(run.id, new Recording(run, open));
    });
  }

  /** The tokens of an answer, so far. What was written before the page was left comes first. */
  async pieces(message: string): Promise<readonly Piece[]> {
    const recording = this.recordings.get(message) ?? this.finished.get(message);
    if (recording !== undefined && !recording.elsewhere) return recording.all();
    try {
      return await (await this.open()).read(message);
    } catch {
      return []; // this browser keeps nothing
    }
  }

  /** What a program told of the branches of an answer, so far. */
  async branches(message: string): Promise<readonly BranchChange[]> {
    const recording = this.recordings.get(message) ?? this.finished.get(message);
    if (recording !== undefined && !recording.elsewhere) return recording.allChanges();
    try {
      return await (await this.open()).readBranches(message);
    } catch {
      return []; // this browser keeps nothing
    }
  }

  /** Keeps the record that an answer has from another one, of its beginning or of all of it. */
  async keep(message: string, chat: string, pieces: readonly Piece[]): Promise<void> {
    this.finished.delete(message);
    await this.open()
      .then((store) => store.write(message, chat, pieces, 0))
      .catch(() => {}); // there is no room, or this browser keeps nothing
  }

  /** Writes what is not written yet, as the page may be left. */
  flush(): void {
    for (const recording of this.recordings.values()) void recording.write();
  }

  /** Forgets a chat's answers when it goes from the list. */
  follow(chats: ReadonlySignal<readonly { id: string }[]>): void {
    let known = new Set<string>();
    effect(() => {
      const now = new Set(chats.value.map(({ id }) => id));
      for (const id of known) if (!now.has(id)) void this.forget(id);
      known = now;
    });
  }

  private async forget(chat: string): Promise<void> {
    await this.open()
      .then((store) => store.forget(chat))
      .catch(() => {});
  }

  private end(id: string, recording: Recording): void {
    this.recordings.delete(id);
    recording.close();
    this.finished.delete(id);
    this.finished.set(id, recording);
    for (const old of [...this.finished.keys()].slice(0, -mostFinished)) this.finished.delete(old);
  }
}

/** The traces of this browser. */
export const openTraces = once(async () => (await import("./tracestore.ts")).TraceStore.open());

/** What is kept of one run. */
class Recording {
  private earlier: Promise<Piece[]> | undefined; // of the answer, from before the page was left
  private earlierChanges: Promise<readonly BranchChange[]> | undefined; // the same of branches
  private written: readonly Piece[] = []; // of the run
  private changesWritten = 0; // of the run
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly run: Recorded,
    private readonly open: () => Promise<TraceStore>,
  ) {
    this.timer = setInterval(() => void this.write(), writeEvery);
  }

  /** Another tab follows the answer, and keeps it. */
  get elsewhere(): boolean {
    return this.run.watching || (this.run.pieces.length === 0 && this.run.before > 0);
  }

  async all(): Promise<readonly Piece[]> {
    const { before, pieces } = this.run;
    if (before === 0) return pieces;
    this.earlier ??= this.open()
      .then((store) => store.read(this.run.id))
      .catch(() => []);
    return [...withoutTraces(await this.earlier, before), ...pieces];
  }

  async allChanges(): Promise<readonly BranchChange[]> {
    const { resumed, changes } = this.run;
    if (!resumed) return changes;
    this.earlierChanges ??= this.open()
      .then((store) => store.readBranches(this.run.id))
      .catch(() => []);
    return [...(await this.earlierChanges), ...changes];
  }

  /** Writes what is new or was taken back, of tokens and of branches. */
  async write(): Promise<void> {
    await Promise.all([this.writePieces(), this.writeBranches()]);
  }

  private async writeBranches(): Promise<void> {
    const { run } = this;
    if (run.watching || run.changes.length === this.changesWritten) return;
    this.changesWritten = run.changes.length;
    const changes = [...(await this.allChanges())];
    await this.open()
      .then((store) => store.writeBranches(run.id, run.chat, changes))
      .catch(() => {}); // there is no room, or this browser keeps nothing
  }

  /** An answer without traces is not worth it. */
  private async writePieces(): Promise<void> {
    const { run, written } = this;
    if (run.watching || !run.pieces.some(({ trace }) => trace !== undefined)) return;
    let same = 0;
    while (same < written.length && written[same] === run.pieces[same]) same++;
    if (same === written.length && same === run.pieces.length) return;
    this.written = [...run.pieces];
    const pieces = await this.all();
    await this.open()
      .then((store) => store.write(run.id, run.chat, pieces, run.before + same))
      .catch(() => {}); // there is no room, or this browser keeps nothing
  }

  close(): void {
    clearInterval(this.timer);
    void this.write();
  }
}

/** As many pieces as the answer had: some may have been written after it, or not any more. */
export function withoutTraces(pieces: readonly Piece[], wanted: number): Piece[] {
  const missing = Math.max(0, wanted - pieces.length);
  return [...pieces.slice(0, wanted), ...Array.from({ length: missing }, () => ({ text: "" }))];
}
