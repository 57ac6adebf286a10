// SPDX-License-Identifier: MIT

// The strip chart with its legend and its buttons.
import { type Signal, useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t, tx } from "../../language/language.ts";
import type { LiveWatch } from "../../live/livewatch.ts";
import { ticksSummary, tickWords } from "../../live/livewords.ts";
import type { Tick, Ticks } from "../../live/ticks.ts";
import { Icon } from "../icon.tsx";
import { LastTicks } from "./lastticks.tsx";
import { coloursOf, StripChart } from "./stripchart.ts";

interface Props {
  ticks: Ticks;
  watch: LiveWatch;
}

/** The batch of each tick, and where its time went. */
export function StripPanel({ ticks, watch }: Props) {
  useSeconds(watch);
  const chosen: Signal<Tick | undefined> = useSignal(undefined);
  const paused = useSignal(false);
  const empty = ticks.size === 0;
  return (
    <section class="panel strip" aria-label={t("Ticks")}>
      <header>
        <h3>{t("Ticks")}</h3>
        <button
          type="button"
          class="quiet"
          aria-pressed={paused.value}
          onClick={() => {
            paused.value = !paused.value;
          }}
        >
          <Icon name={paused.value ? "play" : "pause"} />
          {paused.value ? t("Go on") : t("Freeze")}
        </button>
      </header>
      <p class="hint">
        {t(
          "In each tick the model is run once for all: every answer gains a token, and a piece of the prompts is read.",
        )}
      </p>
      <Chart ticks={ticks} watch={watch} chosen={chosen} paused={paused.value} />
      {empty ? (
        <p class="note">
          {tx("Nothing has been computed yet: {link} to see it.", {
            link: <a href="#/">{t("ask something in a chat")}</a>,
          })}
        </p>
      ) : (
        <p class="reading">{chosen.value === undefined ? ticksSummary(ticks) : tickWords(chosen.value)}</p>
      )}
      {!empty && <LastTicks ticks={ticks} />}
    </section>
  );
}

/** Has a component read the ticks again once a second: more often nobody can read what it says. */
function useSeconds(watch: LiveWatch): void {
  const second = useComputed(() => Math.floor((watch.frame.value?.time_ms ?? 0) / 1000));
  void second.value;
}

interface ChartProps extends Props {
  chosen: Signal<Tick | undefined>;
  paused: boolean;
}

function Chart({ ticks, watch, chosen, paused }: ChartProps) {
  useSeconds(watch);
  const canvas = useRef<HTMLCanvasElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const chart = useRef<StripChart | undefined>(undefined);
  const pointed = useRef(false);
  useLayoutEffect(() => {
    const [drawing, colours] = [canvas.current, legend.current];
    if (drawing === null || colours === null) return;
    const made = new StripChart(drawing, { ticks, hostTime: () => watch.hostTime() }, () =>
      coloursOf(colours),
    );
    chart.current = made;
    return () => made.close();
  }, [ticks, watch]);
  const choose = (tick: Tick | undefined) => {
    chosen.value = tick;
    chart.current?.choose(tick);
    chart.current?.hold(paused || pointed.current || tick !== undefined);
  };
  useLayoutEffect(() => choose(paused ? chosen.peek() : undefined), [paused]);
  const point = (event: PointerEvent) => {
    pointed.current = true;
    chart.current?.hold(true);
    choose(chart.current?.tickAt(event.offsetX));
  };
  const leave = () => {
    pointed.current = false;
    if (!paused) choose(undefined);
  };
  const press = (event: KeyboardEvent) => {
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    if (event.key === "Escape") leave();
    else choose(chart.current?.step(chosen.peek(), by));
  };
  const tick = chosen.value;
  return (
    <>
      <Legend legend={legend} />
      <canvas
        ref={canvas}
        role="slider"
        tabIndex={0}
        aria-label={t("The ticks of the last seconds; step through them with the arrow keys")}
        aria-valuemin={ticks.at(0)?.number ?? 0}
        aria-valuemax={ticks.last?.number ?? 0}
        aria-valuenow={tick?.number ?? ticks.last?.number ?? 0}
        aria-valuetext={tick === undefined ? t("No tick is chosen") : tickWords(tick)}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={leave}
        onKeyDown={press}
        onBlur={leave}
      />
    </>
  );
}

// By how many ticks a key goes on.
const steps: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageUp: -20,
  PageDown: 20,
  Home: -1e9,
  End: 1e9,
  Escape: 0,
};

const entries = [
  ["decode", t("tokens of answers")],
  ["prefill", t("tokens of prompts")],
  ["forward", t("running the model (forward pass)")],
  ["sample", t("sampling")],
  ["plugin", t("plugins")],
  ["other", t("other")],
] as const;

/** What the colours mean. The chart is drawn in those of the legend. */
function Legend({ legend }: { legend: { current: HTMLDivElement | null } }) {
  const part = (from: number, to: number) =>
    entries.slice(from, to).map(([series, words]) => (
      <li key={series}>
        <i data-series={series} />
        {words}
      </li>
    ));
  return (
    <div class="keys" ref={legend}>
      <p>{t("Tokens in a tick")}</p>
      <ul class="legend">{part(0, 2)}</ul>
      <p>{t("Its time")}</p>
      <ul class="legend">{part(2, 6)}</ul>
    </div>
  );
}
