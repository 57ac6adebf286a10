// SPDX-License-Identifier: MIT

// The answer that a script gives, and what it told.
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { advice, remedy } from "../../host/erroradvice.ts";
import { t } from "../../language/language.ts";
import { errorOfRun, type Rehearsal } from "../../scripts/rehearsal.ts";
import { count } from "../../text/numberformat.ts";
import { firstDifference } from "../../trace/firstdifference.ts";
import { itemsOf, type Piece } from "../../trace/tokenitems.ts";
import { inText, visibleToken } from "../../trace/tokenwords.ts";

/** The answer of the newest run, with the first token that differs from the run before. */
export function RunView({ rehearsal }: { rehearsal: Rehearsal<RunningAnswer> }) {
  const run = rehearsal.run.value;
  const { implements: calls = [] } = rehearsal.checked.value ?? {};
  return (
    <section class="run" aria-label={t("The answer with this script")}>
      <h3>
        {t("The answer")}
        {calls.length > 0 && <small> {t("with {names}", { names: calls.join(", ") })}</small>}
      </h3>
      {run !== undefined && <Answer key={run.id} run={run} rehearsal={rehearsal} />}
    </section>
  );
}

function Answer({ run, rehearsal }: { run: RunningAnswer; rehearsal: Rehearsal<RunningAnswer> }) {
  const message = run.message.value;
  const before = rehearsal.before.value?.pieces;
  const done = message.answer?.phase === "done";
  const parted = partedAt(run.pieces, before, done);
  const error = message.answer?.outcome?.error;
  const stale = rehearsal.pending.value || rehearsal.error.value !== undefined;
  return (
    <>
      <p class="tried" data-stale={stale} aria-busy={!done} dir="auto">
        {textOf(run.pieces.slice(0, parted))}
        {parted !== undefined && (
          <>
            <mark>{textOf(run.pieces.slice(parted, parted + 1)) || "∎"}</mark>
            {textOf(run.pieces.slice(parted + 1))}
          </>
        )}
        {run.pieces.length === 0 && error === undefined && <span class="hint">…</span>}
      </p>
      <p class="hint" role="status">
        {verdict(run.pieces, before, parted, done)}
      </p>
      {error !== undefined && errorOfRun(run) === undefined && (
        <p class="problem" role="alert">
          {advice(error).said} {remedy(error)}
        </p>
      )}
      <Told run={run} log={rehearsal.checked.value?.log ?? []} />
    </>
  );
}

/**
 * Where a run parts from the one before. One that has not come to its end may still go on as that
 * did.
 */
function partedAt(
  pieces: readonly Piece[],
  before: readonly Piece[] | undefined,
  done: boolean,
): number | undefined {
  if (before === undefined) return undefined;
  const at = firstDifference(pieces, before);
  return at === undefined || (!done && at >= pieces.length) ? undefined : at;
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text, trace }) => (isEnd(text, trace) ? "" : inText(trace?.token ?? text))).join("");
}

/** Whether it is the token that ends an answer, which is none of its text. */
function isEnd(text: string, trace: Piece["trace"]): boolean {
  return text === "" && /^<.*>$/.test(trace?.token ?? "");
}

function verdict(
  pieces: readonly Piece[],
  before: readonly Piece[] | undefined,
  parted: number | undefined,
  done: boolean,
): string {
  if (before === undefined) return "";
  if (parted === undefined) return done ? t("The same as the run before, token for token.") : "";
  const name = (piece: Piece | undefined) =>
    piece === undefined ? t("the end") : visibleToken(piece.trace?.token ?? piece.text);
  return t("Differs from the run before at token {n}: {token}, before {earlier}.", {
    n: count(parted + 1),
    token: name(pieces[parted]),
    earlier: name(before[parted]),
  });
}

/** What the script told: what it printed before the answer, values, and notes at their tokens. */
function Told({ run, log }: { run: RunningAnswer; log: string[] }) {
  const outputs = run.message.value.outputs ?? [];
  const notes = itemsOf(run.pieces).flatMap(({ text, place, takenBy, trace }) =>
    (trace?.notes ?? []).map(({ text: note }) => {
      const at = { n: count(place + 1), token: visibleToken(text), note };
      return takenBy === undefined
        ? t("Token {n}, {token}: {note}", at)
        : t("Token {n}, {token}, taken back: {note}", at);
    }),
  );
  const lines = [
    ...log.map((line) => t("Before the answer: {line}", { line })),
    ...outputs.map(({ tokens, value }) =>
      t("Token {n} tells {value}", { n: count(tokens), value: JSON.stringify(value) }),
    ),
    ...notes,
  ];
  if (lines.length === 0) return null;
  return (
    <details class="told" open>
      <summary>{t("Notes, values and console ({n})", { n: count(lines.length) })}</summary>
      <pre>{lines.slice(0, mostLines).join("\n")}</pre>
    </details>
  );
}

const mostLines = 200;
