// SPDX-License-Identifier: MIT

// The time between two tokens, as a histogram.
import { t } from "../../language/language.ts";
import { type Histogram, histogramWords, percentile, totalOf } from "../../live/histogram.ts";
import type { LiveModel } from "../../live/liveframe.ts";
import { count, duration } from "../../text/numberformat.ts";

const [width, height, gap] = [420, 96, 4]; // of the drawing, without its numbers

/** The time between two tokens of an answer, since the model was loaded. */
export function LatencyPanel({ itl }: { itl: LiveModel["itl"] }) {
  const histogram = { bounds: itl.up_to_ms, counts: itl.counts };
  const total = totalOf(histogram);
  return (
    <section class="panel tall" aria-label={t("Time between tokens")}>
      <h3>{t("Time between tokens")}</h3>
      {total === 0 ? (
        <p>{t("No answer has had two tokens yet.")}</p>
      ) : (
        <>
          <Bars histogram={histogram} />
          <dl class="percentiles">
            {[0.5, 0.95, 0.99].map((part) => (
              <div key={part}>
                <dt>{t("p{n}", { n: part * 100 })}</dt>
                <dd>{shown(histogram, part)}</dd>
              </div>
            ))}
          </dl>
          <p class="hidden">{histogramWords(histogram)}</p>
          <p class="note">
            {t("Of {n} tokens since the model was loaded, estimated from the bars.", { n: count(total) })}
          </p>
        </>
      )}
    </section>
  );
}

function shown(histogram: Histogram, part: number): string {
  const at = percentile(histogram, part);
  return at === undefined ? "–" : `${at.above ? "> " : ""}${duration(at.ms)}`;
}

function Bars({ histogram }: { histogram: Histogram }) {
  const { bounds, counts } = histogram;
  const most = Math.max(...counts, 1);
  const step = width / Math.max(counts.length, 1);
  return (
    <svg class="histogram" viewBox={`0 0 ${width} ${height + 14}`} aria-hidden="true">
      {counts.map((n, i) => {
        const tall = n > 0 ? Math.max(2, (height * n) / most) : 0;
        const until = duration(bounds[i] ?? bounds.at(-1) ?? 0);
        const words =
          bounds[i] === undefined
            ? t("more than {time}: {n}", { time: until, n: count(n) })
            : t("up to {time}: {n}", { time: until, n: count(n) });
        return (
          <g key={bounds[i] ?? "above"}>
            <title>{words}</title>
            <rect class="ground" x={i * step + gap / 2} y="0" width={step - gap} height={height} />
            <rect x={i * step + gap / 2} y={height - tall} width={step - gap} height={tall} rx="1.5" />
            {i % 3 === 0 && bounds[i] !== undefined && (
              <text x={(i + 1) * step} y={height + 12}>
                {short(bounds[i])}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** A bound for a small label. */
function short(ms: number): string {
  const n = +(ms >= 1000 ? ms / 1000 : ms).toPrecision(2);
  return ms >= 1000 ? t("{n} s", { n }) : t("{n} ms", { n });
}
