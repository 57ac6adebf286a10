// SPDX-License-Identifier: MIT

// The token in focus: how it was chosen.
import { useMemo } from "preact/hooks";
import type { TokenTrace } from "../../host/protocol.ts";
import { t, tx } from "../../language/language.ts";
import { count, duration } from "../../text/numberformat.ts";
import { type ExplanationLine, explanationOf } from "../../trace/explanation.ts";
import type { TokenItem } from "../../trace/tokenitems.ts";
import { stageTimes } from "../../trace/tokentrace.ts";
import { percent, stageName, visibleToken } from "../../trace/tokenwords.ts";
import { Icon } from "../icon.tsx";
import type { AnswerReader } from "./answerreader.ts";
import { CandidateTable } from "./candidates.tsx";

/** The token in focus: how it was chosen, in words, in a table and in time. */
export function TokenDetail({
  reader,
  label = t("The token in focus"),
}: {
  reader: AnswerReader;
  label?: string;
}) {
  const item = reader.item.value;
  if (item === undefined) return null;
  return (
    <section class="detail" aria-label={label}>
      <header>
        <h3>
          <code class={item.takenBy === undefined ? "" : "taken"}>{visibleToken(item.text)}</code>
          <small>
            {item.takenBy === undefined
              ? t("token {n} of {all}", where(item, reader))
              : t("taken back before token {n} of {all}", where(item, reader))}
          </small>
        </h3>
        <StepButton reader={reader} step={-1} label={t("Previous token")} />
        <StepButton reader={reader} step={1} label={t("Next token")} />
      </header>
      <Story item={item} />
      {item.trace && item.trace.before.n > 0 && <CandidateTable trace={item.trace} />}
      {item.trace && <Times trace={item.trace} />}
    </section>
  );
}

/** Which of how many tokens an item is. */
function where({ place }: TokenItem, reader: AnswerReader): { n: string; all: string } {
  return { n: count(place + 1), all: count(reader.pieces.value.length) };
}

function StepButton({ reader, step, label }: { reader: AnswerReader; step: 1 | -1; label: string }) {
  const to = reader.at.value + step;
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={t("{label} (arrow keys in the text)", { label })}
      disabled={to < 0 || to >= reader.items.value.length}
      onClick={() => reader.focus(to)}
    >
      <Icon name={step === 1 ? "right" : "left"} />
    </button>
  );
}

function Story({ item }: { item: TokenItem }) {
  const parts = useMemo(() => grouped(explanationOf(item)), [item]);
  return (
    <ol class="story">
      {parts.map(({ kind, text }) => (
        <li key={text} data-kind={kind}>
          {text}
        </li>
      ))}
    </ol>
  );
}

/** The lines, those of the native stages as one: the table has the rest. */
function grouped(lines: readonly ExplanationLine[]): { kind: string; text: string }[] {
  const parts: { kind: string; text: string }[] = [];
  for (const { kind, text } of lines) {
    const last = parts.at(-1);
    if (kind === "stage" && last?.kind === "stage") last.text += ` ${text}`;
    else parts.push({ kind, text });
  }
  return parts;
}

/** Who took how much of the time of a token. */
function Times({ trace }: { trace: TokenTrace }) {
  const list = useMemo(() => [...stageTimes(trace)].sort((a, b) => b[1] - a[1]), [trace]);
  const total = list.reduce((sum, [, ms]) => sum + ms, 0);
  if (total === 0) return null;
  const most = list.slice(0, 4);
  const others = total - most.reduce((sum, [, ms]) => sum + ms, 0);
  const rest = list.length > most.length ? [...most, [t("others"), others] as [string, number]] : most;
  return (
    <figure class="times">
      <figcaption>
        {tx("Choosing it took {time}, after the model’s pass.", { time: <strong>{duration(total)}</strong> })}
      </figcaption>
      <div class="times-strip" aria-hidden="true">
        {rest.map(([name, ms], i) => (
          <span key={name} class={`hue${i}`} style={{ flexGrow: ms / total }} />
        ))}
      </div>
      <ul>
        {rest.map(([name, ms], i) => (
          <li key={name}>
            <span class={`dab hue${i}`} aria-hidden="true" />
            {stageName(name)}{" "}
            <small>
              {duration(ms)} · {percent(ms / total)}
            </small>
          </li>
        ))}
      </ul>
    </figure>
  );
}
