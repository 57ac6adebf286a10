// SPDX-License-Identifier: MIT

// The newest ticks of a model.
import type { LiveTicks } from "./liveframe.ts";

/** What one tick of the scheduler did. Times are milliseconds. */
export interface Tick {
  number: number;
  at: number; // the host's clock, since 1970
  decode: number; // tokens
  prefill: number; // tokens
  passes: number;
  forward: number;
  sample: number;
  plugin: number;
  total: number;
}

/** The last ticks of a model, at most so many: the oldest make room. */
export class Ticks {
  private readonly ring: (Tick | undefined)[];
  private count = 0; // of all that were added

  constructor(capacity = 16_384) {
    this.ring = new Array(capacity);
  }

  get size(): number {
    return Math.min(this.count, this.ring.length);
  }

  /** The tick that came i after the oldest one; undefined where there is none. */
  at(i: number): Tick | undefined {
    if (i < 0 || i >= this.size) return undefined;
    return this.ring[(this.count - this.size + i) % this.ring.length];
  }

  get last(): Tick | undefined {
    return this.at(this.size - 1);
  }

  /**
   * Adds the ticks of a frame, of which some may be known: a watch that begins anew is told of the
   * last ones once more.
   */
  add(columns: LiveTicks): void {
    const last = this.last;
    const known = last === undefined ? -1 : last.number - columns.first; // the place of the last known one in columns
    const at = columns.at_ms[known];
    if (known >= 0 && at !== last?.at) this.count = 0; // the model was loaded anew, and counts from 0 again
    columns.at_ms.forEach((time, i) => {
      if (at !== undefined && at === last?.at && i <= known) return;
      this.ring[this.count++ % this.ring.length] = tickOf(columns, time, i);
    });
  }

  /** The place of the first tick that ends at this time or later; size where there is none. */
  from(time: number): number {
    return this.first((tick) => tick.at + tick.total >= time);
  }

  /**
   * The place of the tick of this number, or of the next one where it is not known; size where
   * there is none. Times do not tell it: by their rounding a tick may end after the next one's
   * begin.
   */
  place(number: number): number {
    return this.first((tick) => tick.number >= number);
  }

  /**
   * The place of the tick that runs at this time, or else of the nearest one; -1: there are none.
   */
  nearest(time: number): number {
    const after = this.from(time);
    const [before, next] = [this.at(after - 1), this.at(after)];
    if (next === undefined) return after - 1;
    if (before === undefined || next.at <= time) return after;
    return time - (before.at + before.total) < next.at - time ? after - 1 : after;
  }

  /** The place of the first tick that is so; those after it must be so too. */
  private first(so: (tick: Tick) => boolean): number {
    let low = 0;
    for (let high = this.size; low < high; ) {
      const middle = (low + high) >> 1;
      const tick = this.at(middle);
      if (tick === undefined || so(tick)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function tickOf(c: LiveTicks, at: number, i: number): Tick {
  return {
    number: c.first + i,
    at,
    decode: c.decode[i] ?? 0,
    prefill: c.prefill[i] ?? 0,
    passes: c.passes[i] ?? 0,
    forward: c.forward_ms[i] ?? 0,
    sample: c.sample_ms[i] ?? 0,
    plugin: c.plugin_ms[i] ?? 0,
    total: c.total_ms[i] ?? 0,
  };
}
