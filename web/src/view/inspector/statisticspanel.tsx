// SPDX-License-Identifier: MIT

// Numbers about the whole answer.
import { useMemo } from "preact/hooks";
import { t } from "../../language/language.ts";
import { count, duration } from "../../text/numberformat.ts";
import { type AnswerStatistics, statisticsOf } from "../../trace/statistics.ts";
import { mostTraced, type Piece } from "../../trace/tokenitems.ts";
import { percent, stageName } from "../../trace/tokenwords.ts";
import { mostStoredTokens } from "../../trace/tracestore.ts";

/** The answer in numbers. */
export function StatisticsPanel({ pieces }: { pieces: readonly Piece[] }) {
  const facts = useMemo(() => statisticsOf(pieces), [pieces]);
  return (
    <details class="numbers">
      <summary>{t("The answer in numbers")}</summary>
      <FactList facts={facts} />
      <StageTimes facts={facts} />
      <p class="hint">
        {t(
          "Token records stay in this browser: those of the first {first} tokens of an answer, and of the newest answers up to {all} tokens. They go with their chat.",
          { first: count(mostTraced), all: count(mostStoredTokens) },
        )}
      </p>
    </details>
  );
}

function FactList({ facts }: { facts: AnswerStatistics }) {
  return (
    <dl>
      {statisticEntries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What is told of an answer, name by name. */
export function statisticEntries(facts: AnswerStatistics): [name: string, value: string][] {
  const { tokens, traced, meanP, changed, takenBack, chain, ms } = facts;
  return [
    [
      t("Tokens"),
      traced < tokens
        ? t("{n}, {traced} with a record", { n: count(tokens), traced: count(traced) })
        : count(tokens),
    ],
    [t("Probability of a typical token"), meanP === undefined ? t("unknown") : percent(meanP)],
    [t("Tokens that a plugin or you changed"), count(changed)],
    [t("Tokens taken back"), count(takenBack)],
    [t("Choosing a token takes"), duration(ms)],
    [t("Stages"), chain.map(stageName).join(" → ")],
  ];
}

function StageTimes({ facts: { times } }: { facts: AnswerStatistics }) {
  return (
    <table class="stage-times">
      <caption>{t("Time for a token, on average")}</caption>
      <thead class="hidden">
        <tr>
          <th scope="col">{t("Stage")}</th>
          <th scope="col">{t("Share")}</th>
          <th scope="col">{t("Time")}</th>
        </tr>
      </thead>
      <tbody>
        {times.map(({ name, ms, share }) => (
          <tr key={name}>
            <th scope="row">{stageName(name)}</th>
            <td>
              <span class="track" aria-hidden="true">
                <span style={{ inlineSize: `${Math.max(share * 100, 1)}%` }} />
              </span>
              <span class="hidden">{percent(share)}</span>
            </td>
            <td>{duration(ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
