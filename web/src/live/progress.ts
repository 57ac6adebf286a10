// SPDX-License-Identifier: MIT

// What an answer waits for before its first token: the queue, a model, or its prompt.
import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Connection } from "../host/connection.ts";
import { t } from "../language/language.ts";
import { count, duration } from "../text/numberformat.ts";
import type { LiveFrame, LiveModel } from "./liveframe.ts";
import type { LiveSubscription } from "./livesubscription.ts";

/** What an answer waits for that has no token yet. */
export type Progress =
  | { kind: "queued"; place: number } // 1 is next
  | { kind: "loading"; model: string }
  | { kind: "reading"; done: number; total: number; left?: number }; // tokens of the prompt; milliseconds

const soon = 300; // milliseconds after which an answer that waits is worth a look
const enough = 500; // milliseconds of reading from which the rest can be told

/**
 * What the answers of this page wait for, as the server tells of each of its steps while one of
 * them waits.
 */
export class Progresses {
  private readonly known: Signal<ReadonlyMap<string, Progress>> = signal(new Map());
  private readonly begun = new Map<string, { time: number; done: number }>(); // when their prompts were first seen

  /** waits tells whether any answer of this page has no token yet. */
  constructor(
    connection: Pick<Connection, "listen">,
    watching: LiveSubscription,
    waits: ReadonlySignal<boolean>,
  ) {
    connection.listen((frame) => {
      if (frame.type === "live") this.take(frame);
    });
    effect(() => {
      if (!waits.value) {
        this.known.value = new Map();
        this.begun.clear();
        return undefined;
      }
      let stop = () => {};
      const timer = setTimeout(() => {
        stop = watching.want();
      }, soon);
      return () => {
        clearTimeout(timer);
        stop();
      };
    });
  }

  /** By the name of the answer in this connection. model is what it asked for; "" is any. */
  of(name: string | undefined, model: string): Progress | undefined {
    const known = this.known.value;
    return name === undefined
      ? undefined
      : (known.get(name) ?? known.get(loading(model)) ?? known.get(loading("")));
  }

  private take(frame: LiveFrame): void {
    const known = new Map<string, Progress>();
    for (const model of frame.models) {
      if (model.state === "loading" && model.waiting_for_load > 0) {
        const progress: Progress = { kind: "loading", model: model.name };
        known.set(loading(model.name), progress).set(loading(""), progress);
      }
      this.takeModel(frame.time_ms, model, known);
    }
    this.known.value = known;
  }

  private takeModel(time: number, { slots, queue }: LiveModel, known: Map<string, Progress>): void {
    for (const { id, place } of queue.own) known.set(id, { kind: "queued", place });
    for (const { id, prompt_tokens: total = 0, prompt_done: done = 0, generated_tokens = 0 } of slots) {
      if (id === undefined || generated_tokens > 0) continue;
      const { time: since, done: before } = this.begun.get(id) ?? { time, done };
      this.begun.set(id, { time: since, done: before });
      const rate = (done - before) / (time - since);
      const left = time - since >= enough && rate > 0 ? { left: (total - done) / rate } : {};
      known.set(id, { kind: "reading", done, total, ...left });
    }
  }
}

const loading = (model: string) => `loading ${model}`;

/** What a reader is told of it. */
export function progressWords(progress: Progress | undefined): string {
  switch (progress?.kind) {
    case undefined:
      return t("Waiting for the server…");
    case "queued":
      return progress.place <= 1
        ? t("In the queue: you are next")
        : t("In the queue: place {n}", { n: count(progress.place) });
    case "loading":
      return t("Loading the model {model}…", { model: progress.model });
    case "reading": {
      const { done, total, left = 0 } = progress;
      const read = { done: count(done), total: count(total) };
      if (left < 1000) return t("Reading the prompt: {done} of {total} tokens", read);
      return t("Reading the prompt: {done} of {total} tokens, about {time} left", {
        ...read,
        time: duration(Math.ceil(left / 1000) * 1000),
      });
    }
  }
}
