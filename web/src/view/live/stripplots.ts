// SPDX-License-Identifier: MIT

// Paints the two plots of the strip chart: tokens and times.
import { language, t } from "../../language/language.ts";
import { type Bar, niceCeiling } from "../../live/stripbars.ts";
import type { Tick } from "../../live/ticks.ts";

/** The colours of the strip chart, as CSS writes them. */
export interface Colours {
  series: Record<Series, string>;
  line: string; // of the grid
  muted: string; // of numbers
  ink: string; // of the chosen tick
}

export const tokenSeries = ["decode", "prefill"] as const;
export const timeSeries = ["forward", "sample", "plugin", "other"] as const;
export type Series = (typeof tokenSeries)[number] | (typeof timeSeries)[number];

/** One of the two plots: what it stacks, and how a value becomes a height. */
export interface Plot {
  top: number; // pixels
  height: number;
  series: readonly Series[];
  value(tick: Tick, series: Series): number;
  scale(value: number): number; // before it is divided by that of the largest
  marks(max: number): number[]; // where the grid has lines
  unit: "" | "ms";
}

/**
 * Tokens of a tick. The scale is that of the square root, so that a few decoded tokens can be seen
 * beside a chunk of a prompt.
 */
export const tokens: Omit<Plot, "top" | "height"> = {
  series: tokenSeries,
  value: (tick, series) => (series === "decode" ? tick.decode : tick.prefill),
  scale: Math.sqrt,
  marks: (max) => [1, 4, 16, 64, 256, 1024, 4096].filter((mark) => mark <= max && mark >= max / 300),
  unit: "",
};

/**
 * Milliseconds of a tick, on the same scale: a chunk of a prompt may take a hundred times as long
 * as a token.
 */
export const times: Omit<Plot, "top" | "height"> = {
  series: timeSeries,
  value: (tick, series) => {
    if (series === "other") return Math.max(0, tick.total - tick.forward - tick.sample - tick.plugin);
    return tick[series as "forward" | "sample" | "plugin"];
  },
  scale: Math.sqrt,
  marks: (max) => [0.1, 0.5, 2, 10, 50, 200, 1000, 5000].filter((mark) => mark <= max),
  unit: "ms",
};

/** The largest value that the axis of a plot should reach. */
export function largest(plot: Pick<Plot, "series" | "value" | "unit">, bars: readonly Bar[]): number {
  let max = 0;
  for (const { tick } of bars) max = Math.max(max, sumOf(plot, tick));
  if (plot.unit !== "") return niceCeiling(max);
  return 4 ** Math.ceil(Math.log(Math.max(max, 4)) / Math.log(4));
}

function sumOf(plot: Pick<Plot, "series" | "value">, tick: Tick): number {
  let sum = 0;
  for (const series of plot.series) sum += plot.value(tick, series);
  return sum;
}

const plain = new Intl.NumberFormat(language, { maximumSignificantDigits: 4, useGrouping: false }); // it is narrow

/** Draws the lines of a plot and their numbers. */
export function drawGrid(
  c: CanvasRenderingContext2D,
  plot: Plot,
  max: number,
  box: Box,
  colours: Colours,
): void {
  c.strokeStyle = colours.line;
  c.fillStyle = colours.muted;
  c.textAlign = "right";
  c.textBaseline = "middle";
  c.lineWidth = 1;
  c.beginPath();
  let above = Number.NEGATIVE_INFINITY; // where the last number stands
  for (const mark of [...plot.marks(max).reverse(), 0]) {
    const y = Math.round(plot.top + plot.height * (1 - plot.scale(mark) / plot.scale(max))) + 0.5;
    if (mark > 0 && y - above < 14) continue; // its number would stand on the last one
    above = y;
    c.moveTo(box.left, y);
    c.lineTo(box.left + box.width, y);
    const n = plain.format(mark);
    if (mark > 0) c.fillText(plot.unit === "ms" ? t("{n} ms", { n }) : n, box.left - 6, y);
  }
  c.stroke();
}

/** Where the bars are: pixels. */
export interface Box {
  left: number;
  width: number;
}

/** Draws the bars of a plot, each series in one path: a thousand bars are few calls. */
export function drawBars(
  c: CanvasRenderingContext2D,
  plot: Plot,
  max: number,
  bars: readonly Bar[],
  box: Box,
  colours: Colours,
): void {
  const full = plot.scale(max);
  plot.series.forEach((series, level) => {
    c.fillStyle = colours.series[series];
    c.beginPath();
    for (const { x, width, tick } of bars) {
      const value = plot.value(tick, series);
      if (value <= 0) continue;
      let below = 0;
      for (let i = 0; i < level; i++) below += plot.value(tick, plot.series[i] as Series);
      const [from, to] = [plot.scale(below) / full, plot.scale(below + value) / full];
      const height = Math.max((to - from) * plot.height, level === 0 ? 1 : 0.5);
      c.rect(box.left + x, plot.top + plot.height * (1 - Math.min(to, 1)), gapped(width), height);
    }
    c.fill();
  });
}

/** Bars that are wide enough have a gap between them. */
function gapped(width: number): number {
  return width >= 4 ? width - 1 : width;
}
