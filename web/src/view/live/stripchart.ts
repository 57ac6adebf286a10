// SPDX-License-Identifier: MIT

// Draws the strip chart on a canvas.
import { t } from "../../language/language.ts";
import { type Bar, layOutBars } from "../../live/stripbars.ts";
import type { Tick, Ticks } from "../../live/ticks.ts";
import {
  type Colours,
  drawBars,
  drawGrid,
  largest,
  type Plot,
  type Series,
  times,
  tokens,
} from "./stripplots.ts";

const msPerPixel = 10;
const gutter = 46; // pixels, for the numbers at the left
const foot = 18; // pixels, for the seconds
const delay = 450; // milliseconds behind the host: so the ticks of the next frame have come when they are to be drawn
const shrinking = 600; // milliseconds in which an axis that is too long becomes shorter by two thirds
const calm = 1000; // milliseconds between two drawings for people who want no motion

interface Source {
  ticks: Ticks;
  hostTime(): number; // milliseconds since 1970
}

/**
 * Draws the ticks as they happen: time runs from right to left. Pointed at, or when it is held, it
 * stands still.
 */
export class StripChart {
  private readonly context: CanvasRenderingContext2D;
  private readonly sizes: ResizeObserver;
  private readonly motion = matchMedia("(prefers-reduced-motion: reduce)");
  private colours: Colours;
  private coloursRead = 0;
  private next = 0; // the animation frame that is asked for
  private drawn = 0; // performance.now() of the last drawing
  private width = 0; // pixels, of the plots
  private height = 0; // of all
  private readonly bars: Bar[] = [];
  private passed = 0; // milliseconds, between the last two
  private empty = false; // it had no bars
  private held: number | undefined; // the time at the right end while it stands still
  private maxima = [4, 1]; // of the plots, smoothed
  private chosen: Tick | undefined;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly source: Source,
    private readonly coloursOf: () => Colours,
  ) {
    const context = canvas.getContext("2d");
    // untranslated: it goes to the console
    if (context === null) throw new Error("this browser draws no canvas");
    this.context = context;
    this.colours = coloursOf();
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(canvas);
    this.fit();
    this.run();
  }

  close(): void {
    this.sizes.disconnect();
    cancelAnimationFrame(this.next);
  }

  /** Stands still, or goes on. */
  hold(still: boolean): void {
    if (still) this.held ??= this.end;
    else this.held = undefined;
    this.draw();
  }

  /** Marks a tick; undefined: none. */
  choose(tick: Tick | undefined): void {
    this.chosen = tick;
    this.draw();
  }

  /** The tick at a place, in pixels from the left of the canvas. */
  tickAt(x: number): Tick | undefined {
    const { ticks } = this.source;
    const time = this.end - (this.width - (x - gutter)) * msPerPixel;
    return ticks.at(ticks.nearest(time));
  }

  /**
   * The tick that is so many steps after another, among those that can be seen; without another,
   * from the newest.
   */
  step(from: Tick | undefined, by: number): Tick | undefined {
    const { ticks } = this.source;
    const [first, last] = [ticks.from(this.end - this.width * msPerPixel), ticks.nearest(this.end)];
    const at = from === undefined ? last : ticks.place(from.number) + by;
    return ticks.at(Math.min(Math.max(at, first), last));
  }

  /** The time at the right end. */
  private get end(): number {
    return this.held ?? this.source.hostTime() - delay;
  }

  private isEmpty(): boolean {
    const { ticks } = this.source;
    return ticks.from(this.end - this.width * msPerPixel) >= ticks.size;
  }

  private run(): void {
    this.next = requestAnimationFrame(() => {
      const now = performance.now();
      const due = !this.motion.matches || now - this.drawn >= calm;
      if (this.held === undefined && due && !(this.empty && this.isEmpty())) this.draw();
      this.run();
    });
  }

  private fit(): void {
    const { canvas } = this;
    this.width = canvas.clientWidth - gutter;
    this.height = canvas.clientHeight;
    canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
    canvas.height = Math.round(canvas.clientHeight * devicePixelRatio);
    this.draw();
  }

  private draw(): void {
    const { context: c, width } = this;
    if (width <= 0) return;
    this.passed = performance.now() - this.drawn;
    this.drawn += this.passed;
    this.readColours();
    c.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    c.clearRect(0, 0, gutter + width, this.height);
    c.font = "11px system-ui, sans-serif"; // untranslated: CSS
    const end = Number.isFinite(this.end) ? this.end : 0;
    const bars = layOutBars(this.source.ticks, end, width, msPerPixel, this.bars);
    this.empty = bars.length === 0;
    const box = { left: gutter, width };
    c.save();
    this.plots().forEach((plot, i) => {
      const max = this.axis(plot, i, bars);
      drawGrid(c, plot, max, box, this.colours);
      c.save();
      c.beginPath();
      c.rect(gutter, plot.top, width, plot.height + 1);
      c.clip();
      drawBars(c, plot, max, bars, box, this.colours);
      c.restore();
    });
    c.restore();
    this.drawSeconds();
    this.drawChosen(bars);
  }

  private plots(): Plot[] {
    const height = this.height - foot - 24;
    const upper = Math.round(height * 0.55);
    return [
      { ...tokens, top: 8, height: upper },
      { ...times, top: 8 + upper + 16, height: height - upper },
    ];
  }

  /**
   * The end of a plot's axis. It grows at once and shrinks slowly, so that the bars do not jump.
   */
  private axis(plot: Plot, i: number, bars: readonly Bar[]): number {
    const wanted = largest(plot, bars);
    const before = this.maxima[i] ?? wanted;
    const shrunk = before * Math.exp(-this.passed / shrinking);
    const now = wanted >= before || this.motion.matches ? wanted : Math.max(wanted, shrunk);
    this.maxima[i] = now;
    return now;
  }

  private drawSeconds(): void {
    const { context: c, width } = this;
    c.fillStyle = this.colours.muted;
    c.textBaseline = "alphabetic";
    const y = this.height - 4;
    c.textAlign = "right";
    c.fillText(this.held === undefined ? t("now") : t("held"), gutter + width, y);
    c.textAlign = "center";
    const step = width > 500 ? 2000 : 1000;
    for (let ms = step; ms / msPerPixel < width - 16; ms += step) {
      c.fillText(t("−{n} s", { n: ms / 1000 }), gutter + width - ms / msPerPixel, y);
    }
  }

  private drawChosen(bars: readonly Bar[]): void {
    const { chosen, context: c } = this;
    if (chosen === undefined) return;
    const origin = Math.floor(this.end / msPerPixel) - this.width;
    const x = Math.floor(chosen.at / msPerPixel) - origin;
    if (x < 0 || x > this.width) return;
    const width = bars.find((bar) => bar.x === x)?.width ?? 1;
    c.strokeStyle = this.colours.ink;
    c.lineWidth = 1;
    c.strokeRect(gutter + x - 1.5, 4.5, width + 2, this.height - foot - 8);
  }

  /** The theme may change at any time, and is looked at once a second. */
  private readColours(): void {
    if (this.drawn - this.coloursRead < 1000) return;
    this.coloursRead = this.drawn;
    this.colours = this.coloursOf();
  }
}

/** Reads the colours off a legend, whose entries are drawn in them. */
export function coloursOf(legend: HTMLElement): Colours {
  const series = {} as Record<Series, string>;
  for (const swatch of legend.querySelectorAll<HTMLElement>("[data-series]")) {
    series[swatch.dataset.series as Series] = getComputedStyle(swatch).backgroundColor;
  }
  const { color, borderTopColor } = getComputedStyle(legend);
  const ink = getComputedStyle(document.body).color;
  return { series, line: borderTopColor, muted: color, ink };
}
