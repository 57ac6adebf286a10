// SPDX-License-Identifier: MIT

// What the live view knows: the last frame, and the ticks and rates of each model.
import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Connection } from "../host/connection.ts";
import type { LiveFrame, LiveModel } from "./liveframe.ts";
import type { LiveSubscription } from "./livesubscription.ts";
import { Rates } from "./rates.ts";
import { Ticks } from "./ticks.ts";

/** What is known of one model besides its last frame. */
export class WatchedModel {
  readonly ticks = new Ticks();
  readonly rates = new Rates();
}

/**
 * Watches the host from its making until stop, while the page can be seen, and goes on after a
 * lost connection.
 */
export class LiveWatch {
  /** The last frame. */
  readonly frame: Signal<LiveFrame | undefined> = signal(undefined);
  /** Why there are no frames; empty: nothing is wrong. */
  readonly problem: Signal<string> = signal("");
  private readonly models = new Map<string, WatchedModel>();
  private ahead = Number.NEGATIVE_INFINITY; // of the host's clock before this page's
  private readonly stops: (() => void)[] = [];

  constructor(
    connection: Pick<Connection, "status" | "listen">,
    watching: LiveSubscription,
    visible: ReadonlySignal<boolean>,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.stops.push(
      connection.listen((frame) => {
        if (frame.type === "live") this.take(frame);
        else if (frame.type === "error" && frame.frame === "watch") this.problem.value = frame.error.message;
      }),
      effect(() => {
        if (connection.status.value.kind !== "online" || !visible.value) return undefined;
        this.problem.value = "";
        return watching.want();
      }),
    );
  }

  stop(): void {
    for (const stop of this.stops) stop();
  }

  /** What is known of a model, by its name. */
  of(name: string): WatchedModel {
    let found = this.models.get(name);
    if (found === undefined) {
      found = new WatchedModel();
      this.models.set(name, found);
    }
    return found;
  }

  /** The host's clock now, in milliseconds since 1970, less what a frame takes to come. */
  hostTime(): number {
    return this.now() + this.ahead;
  }

  private take(frame: LiveFrame): void {
    const ahead = frame.time_ms - this.now();
    // The frame that came fastest tells best. A clock that was set, or that drifts, is followed
    // slowly.
    this.ahead =
      ahead > this.ahead || this.ahead - ahead > 5000 ? ahead : this.ahead - (this.ahead - ahead) / 200;
    for (const model of frame.models) this.add(frame.time_ms, model);
    const here = new Set(frame.models.map((model) => model.name));
    for (const name of this.models.keys()) if (!here.has(name)) this.models.delete(name);
    this.frame.value = frame;
  }

  private add(time: number, model: LiveModel): void {
    const watched = this.of(model.name);
    watched.ticks.add(model.ticks);
    watched.rates.add(time, model);
  }
}
