// SPDX-License-Identifier: MIT

// Tokens a second of a model, and of each of its slots.
import type { LiveModel, LiveSlot, LiveTicks } from "./liveframe.ts";

/** Tokens a second now, smoothed over about a second. */
export interface Throughput {
  generated: number;
  prompt: number;
  ticks: number;
}

const smoothing = 1000; // milliseconds
const none: Throughput = { generated: 0, prompt: 0, ticks: 0 };

/** How fast a model works, from one frame to the next. */
export class Rates {
  private time: number | undefined; // of the last frame
  private readonly tokens = new Map<number, number>(); // by request: as of the last frame
  private readonly slots = new Map<number, number>(); // by request: tokens a second
  throughput: Throughput = none;

  /** Takes a frame in, which was made at time. */
  add(time: number, model: Pick<LiveModel, "slots" | "ticks">): void {
    const passed = this.time === undefined ? 0 : time - this.time;
    this.time = time;
    const weight = 1 - Math.exp(-passed / smoothing);
    if (passed > 0) this.throughput = blend(this.throughput, measured(model.ticks, passed), weight);
    this.addSlots(model.slots, passed, weight);
  }

  /** Tokens a second of the answer in a slot; undefined where it has too few tokens to tell. */
  of(slot: LiveSlot): number | undefined {
    return slot.request === undefined ? undefined : this.slots.get(slot.request);
  }

  private addSlots(slots: readonly LiveSlot[], passed: number, weight: number): void {
    const here = new Set<number>();
    for (const slot of slots) {
      if (slot.request === undefined) continue;
      here.add(slot.request);
      const [tokens, before] = [slot.generated_tokens ?? 0, this.tokens.get(slot.request)];
      this.tokens.set(slot.request, tokens);
      const known = this.slots.get(slot.request) ?? slot.tokens_per_second;
      if (known === undefined) continue;
      const now =
        before === undefined || passed <= 0 ? known : (1000 * Math.max(0, tokens - before)) / passed;
      this.slots.set(slot.request, known + (now - known) * weight);
    }
    for (const request of this.tokens.keys()) {
      if (here.has(request)) continue;
      this.tokens.delete(request);
      this.slots.delete(request);
    }
  }
}

/**
 * What the ticks of one frame say. Of a frame that leaves some out, those that are there stand for
 * the others.
 */
function measured(ticks: LiveTicks, passed: number): Throughput {
  const n = ticks.at_ms.length;
  if (n === 0) return none;
  const covered = (ticks.at_ms[n - 1] ?? 0) + (ticks.total_ms[n - 1] ?? 0) - (ticks.at_ms[0] ?? 0);
  const seconds = (ticks.left_out > 0 ? Math.min(passed, Math.max(covered, 1)) : passed) / 1000;
  return { generated: sum(ticks.decode) / seconds, prompt: sum(ticks.prefill) / seconds, ticks: n / seconds };
}

function blend(old: Throughput, now: Throughput, weight: number): Throughput {
  const mix = (a: number, b: number) => a + (b - a) * weight;
  return {
    generated: mix(old.generated, now.generated),
    prompt: mix(old.prompt, now.prompt),
    ticks: mix(old.ticks, now.ticks),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
