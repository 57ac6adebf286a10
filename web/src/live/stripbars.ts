// SPDX-License-Identifier: MIT

// Lays ticks out along time as the bars of the strip chart.
import type { Tick, Ticks } from "./ticks.ts";

/**
 * One bar of the strip chart: a tick, or the largest of those that are too short for bars of their
 * own.
 */
export interface Bar {
  x: number; // pixels from the left end
  width: number;
  tick: Tick;
}

/**
 * Lays the ticks out along time: a tick's bar begins where it began and is as wide as it took.
 * Where several ticks share a pixel the one with the most tokens stands for them, so thousands of
 * ticks a second cost no more than there are pixels. end is the time at the right end; bars keep
 * their pixel while end moves. The result is bars, whose memory is used again: this runs sixty
 * times a second.
 */
export function layOutBars(
  ticks: Ticks,
  end: number,
  width: number,
  msPerPixel: number,
  bars: Bar[] = [],
): Bar[] {
  let n = 0;
  const origin = Math.floor(end / msPerPixel) - width; // in pixels of time, so that a bar moves by whole pixels
  for (let i = ticks.from(origin * msPerPixel); i < ticks.size; i++) {
    const tick = ticks.at(i);
    if (tick === undefined || tick.at > end) break;
    const left = Math.floor(tick.at / msPerPixel);
    const right = Math.max(left + 1, Math.floor((tick.at + tick.total) / msPerPixel));
    const last = n > 0 ? bars[n - 1] : undefined;
    if (last !== undefined && last.x === left - origin) {
      if (size(tick) > size(last.tick)) last.tick = tick;
      last.width = Math.max(last.width, right - left);
    } else {
      put(bars, n++, left - origin, right - left, tick);
    }
  }
  bars.length = n;
  return bars;
}

function put(bars: Bar[], i: number, x: number, width: number, tick: Tick): void {
  const bar = bars[i];
  if (bar === undefined) {
    bars[i] = { x, width, tick };
    return;
  }
  bar.x = x;
  bar.width = width;
  bar.tick = tick;
}

function size(tick: Tick): number {
  return tick.decode + tick.prefill + tick.total / 1e6;
}

/** The least of 1, 2, 5, 10, 20 … that is not below a number: where an axis ends. */
export function niceCeiling(value: number): number {
  if (value <= 0 || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((s) => s * power >= value * 0.999_999) ?? 10;
  return step * power;
}
