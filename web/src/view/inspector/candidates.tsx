// SPDX-License-Identifier: MIT

// The table of candidates before and after each stage.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { TokenTrace } from "../../host/protocol.ts";
import { t } from "../../language/language.ts";
import { count, duration } from "../../text/numberformat.ts";
import { type CandidateRow, type Cell, type Column, matrixOf } from "../../trace/candidatematrix.ts";
import { ordinal, percent, stageName, visibleToken } from "../../trace/tokenwords.ts";

/**
 * The candidates before and after every stage: a row each, a column for each stage that changed
 * something.
 */
export function CandidateTable({ trace }: { trace: TokenTrace }) {
  const { columns, rows } = useMemo(() => matrixOf(trace), [trace]);
  const all = useSignal(false);
  const idle = columns.filter(({ same }) => same);
  const draw = columns.at(-1)?.left === 1 ? columns.length - 1 : -1; // the column of what was drawn
  const shown = columns.map((column, i) => ({ column, i })).filter(({ column }) => all.value || !column.same);
  return (
    <div class="candidates">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reached with the keyboard */}
      <section class="scroll" aria-label={t("Candidates")} tabIndex={0}>
        <table>
          <caption class="hidden">
            {t("The candidates that the model and each stage left, with their probabilities")}
          </caption>
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden">{t("Candidate")}</span>
              </th>
              {shown.map(({ column, i }) => (
                <Head key={i} column={column} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <TableRow key={row.id} row={row} at={shown.map(({ i }) => i)} draw={draw} />
            ))}
          </tbody>
        </table>
      </section>
      {idle.length > 0 && (
        <label class="idle">
          <input
            type="checkbox"
            role="switch"
            class="switch"
            aria-checked={all.value}
            checked={all.value}
            onChange={(event) => {
              all.value = event.currentTarget.checked;
            }}
          />
          <span>
            {t("Show stages that changed nothing")}{" "}
            <small>{idle.map(({ name }) => stageName(name)).join(", ")}</small>
          </span>
        </label>
      )}
    </div>
  );
}

function Head({ column: { name, left, ms, share } }: { column: Column }) {
  const plugin = name.startsWith("plugin:");
  return (
    <th scope="col" class={plugin ? "plugin" : undefined}>
      <span>{stageName(name)}</span>
      <small>{t("{n} left", { n: count(left) })}</small>
      {ms !== undefined && (
        <>
          <small>{duration(ms)}</small>
          <small>{t("{percent} of the time", { percent: percent(share ?? 0) })}</small>
        </>
      )}
    </th>
  );
}

function TableRow({ row, at, draw }: { row: CandidateRow; at: number[]; draw: number }) {
  return (
    <tr class={row.chosen ? "chosen" : undefined}>
      <th scope="row">
        <code>{visibleToken(row.token)}</code>
        {row.chosen && <span class="hidden"> {t("(chosen)")}</span>}
      </th>
      {at.map((i) => (
        <CandidateCell
          key={i}
          cell={row.cells[i]}
          gone={row.cells[at[at.indexOf(i) - 1] ?? -1]?.state === "cut"}
          draw={i === draw}
        />
      ))}
    </tr>
  );
}

interface CellProps {
  cell: Cell | undefined;
  gone: boolean; // it was cut before
  draw: boolean; // one was drawn here, and all others were not
}

function CandidateCell({ cell, gone, draw }: CellProps) {
  if (cell === undefined || (cell.state === "cut" && gone)) {
    return (
      <td class="behind">
        <span class="hidden">{t("cut before")}</span>
      </td>
    );
  }
  if (cell.state === "cut" && draw) {
    return (
      <td>
        <small class="hint">{t("not drawn")}</small>
      </td>
    );
  }
  if (cell.state === "cut") {
    return (
      <td class="cut">
        <s>{t("candidate|cut")}</s>
      </td>
    );
  }
  if (cell.p === undefined || cell.rank === undefined) {
    return (
      <td class="behind">
        <small>{t("further behind")}</small>
      </td>
    );
  }
  return (
    <td>
      <span class="track" aria-hidden="true">
        <span style={{ inlineSize: `${Math.min(100, Math.max(cell.p * 100, 1))}%` }} />
      </span>
      <span class="p">{percent(cell.p)}</span> <Moved cell={cell} />
    </td>
  );
}

function Moved({ cell: { moved = 0, rank = 0 } }: { cell: Cell }) {
  if (moved === 0) return null;
  const place = { rank: ordinal(rank) };
  const words = moved > 0 ? t("up to {rank}", place) : t("down to {rank}", place);
  return (
    <small class={moved > 0 ? "up" : "down"} title={words}>
      <span aria-hidden="true">
        {moved > 0 ? "▲" : "▼"}
        {count(Math.abs(moved))}
      </span>
      <span class="hidden">{words}</span>
    </small>
  );
}
