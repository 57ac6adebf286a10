// SPDX-License-Identifier: MIT

// The branches of a program as a tree.
import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { BranchChange, BranchToken } from "../../host/protocol.ts";
import { t, tn } from "../../language/language.ts";
import { count, tokens as tokenWords } from "../../text/numberformat.ts";
import { type BranchRow, type BranchStanding, rowsOf } from "../../trace/branchrows.ts";
import { BranchTree } from "../../trace/branchtree.ts";
import { inText, percent, visibleToken } from "../../trace/tokenwords.ts";

const atOnce = 200; // rows that are drawn without being asked for

/** How a row stands, in words. A program that has ended has none that live. */
function standingWords(standing: BranchStanding, running: boolean): string {
  if (standing === "alive") return running ? t("alive") : t("kept to the end");
  return standing === "chosen" ? t("the answer") : t("dropped");
}

/** The branches of a program as a tree, which grows while it works. */
export function ProgramTree({ changes, running }: { changes: readonly BranchChange[]; running: boolean }) {
  const { tree, rows } = useRows(changes);
  const withDropped = useSignal(true);
  const shown = withDropped.value ? rows : rows.filter(({ standing }) => standing !== "dropped");
  const focus = useSignal<string | undefined>(undefined);
  const inFocus = shown.find(({ key }) => key === focus.value) ?? shown.findLast(({ leaf }) => leaf);
  return (
    <div class="inspector">
      <Summary tree={tree} rows={rows} running={running} />
      <label class="tree-switch">
        <input
          type="checkbox"
          role="switch"
          class="switch"
          aria-checked={withDropped.value}
          checked={withDropped.value}
          onChange={(event) => {
            withDropped.value = event.currentTarget.checked;
          }}
        />
        {t("Show dropped branches")}
      </label>
      <Rows rows={shown} focus={focus} inFocus={inFocus?.key} running={running} />
      {inFocus !== undefined && <RowDetail row={inFocus} running={running} />}
    </div>
  );
}

/** The branches alone, while a program works. */
export function BranchRows({ changes, label }: { changes: readonly BranchChange[]; label: string }) {
  const rows = useRows(changes).rows;
  const focus = useSignal<string | undefined>(undefined);
  const inFocus = rows.find(({ key }) => key === focus.value) ?? rows.findLast(({ leaf }) => leaf);
  return <Rows rows={rows} focus={focus} inFocus={inFocus?.key} running label={label} />;
}

/** The rows of a tree that grows. */
function useRows(changes: readonly BranchChange[]): { tree: BranchTree; rows: readonly BranchRow[] } {
  const tree = useMemo(() => new BranchTree(), []);
  const rows = useMemo(() => {
    tree.update(changes);
    return rowsOf(tree);
  }, [tree, changes]);
  return { tree, rows };
}

interface SummaryProps {
  tree: BranchTree;
  rows: readonly BranchRow[];
  running: boolean;
}

function Summary({ tree, rows, running }: SummaryProps) {
  const branches = [...tree.branches.values()];
  const alive = branches.filter(({ dropped }) => !dropped).length;
  const ended = rows.find(({ ends }) => ends.length > 0);
  return (
    <div class="tree-summary">
      <p>
        <strong>{running ? t("A program writes this answer.") : t("A program wrote this answer.")}</strong>{" "}
        {tn(
          branches.length,
          "It has opened {n} branch with {tokens} in all.",
          "It has opened {n} branches with {tokens} in all.",
          { tokens: tokenWords(tree.size) },
        )}
        {running && ` ${tn(alive, "{n} branch still lives.", "{n} branches still live.")}`}
        {ended !== undefined && ` ${t("The answer’s score is {score}.", { score: scoreWords(ended.score) })}`}
      </p>
      <p class="hint">
        {t(
          "The score is the sum of the log-probabilities of all tokens from the prompt on: the nearer to 0, the likelier the model finds that text.",
        )}
      </p>
    </div>
  );
}

interface RowsProps {
  rows: readonly BranchRow[];
  focus: Signal<string | undefined>;
  inFocus: string | undefined;
  running: boolean;
  label?: string;
}

/**
 * The rows, of which one has the focus. They scroll along as the tree grows, for a reader at their
 * end.
 */
function Rows({ rows, focus, inFocus, running, label = t("Branches") }: RowsProps) {
  const list = useRef<HTMLDivElement>(null);
  const most = useSignal(atOnce);
  const atEnd = useRef(true);
  const hidden = Math.max(0, rows.length - most.value);
  useLayoutEffect(() => {
    if (list.current !== null && atEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [rows]);
  useLayoutEffect(() => {
    if (focus.value === undefined) return;
    const element = list.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (list.current?.contains(document.activeElement)) element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  }, [focus.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const to = target(
      event.key,
      rows,
      Math.max(
        0,
        rows.findIndex(({ key }) => key === inFocus),
      ),
      hidden,
    );
    if (to === undefined) return;
    event.preventDefault();
    focus.value = to.key;
  };
  return (
    <>
      {hidden > 0 && (
        <button
          type="button"
          class="link"
          onClick={() => {
            most.value += 1000;
          }}
        >
          {t("Show {n} rows before these", { n: count(Math.min(hidden, 1000)) })}
        </button>
      )}
      <div
        class="tree"
        role="tree"
        aria-label={label}
        ref={list}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget: box }) => {
          atEnd.current = box.scrollTop + box.clientHeight > box.scrollHeight - 8;
        }}
        onClick={(event) => {
          const key = (event.target as Element).closest<HTMLElement>("[data-key]")?.dataset.key;
          if (key !== undefined) focus.value = key;
        }}
      >
        {rows.slice(hidden).map((row) => (
          <TreeRow key={row.key} row={row} focused={row.key === inFocus} running={running} />
        ))}
      </div>
    </>
  );
}

/** Where a key leads: up and down, and left to the row that this one parts from. */
function target(key: string, rows: readonly BranchRow[], at: number, first: number): BranchRow | undefined {
  const level = rows[at]?.level ?? 1;
  switch (key) {
    case "ArrowDown":
    case "ArrowRight":
      return rows[Math.min(at + 1, rows.length - 1)];
    case "ArrowUp":
      return rows[Math.max(at - 1, first)];
    case "ArrowLeft":
      return rows.slice(first, at).findLast((row) => row.level < level) ?? rows[first];
    case "Home":
      return rows[first];
    case "End":
      return rows.at(-1);
    default:
      return undefined;
  }
}

const deepest = 8; // levels that are told apart by their indent

interface RowProps {
  row: BranchRow;
  running: boolean;
}

function TreeRow({ row, focused, running }: RowProps & { focused: boolean }) {
  const { key, level, tokens, score, standing, ends } = row;
  return (
    <div
      class="tree-row"
      role="treeitem"
      aria-level={level}
      aria-selected={focused}
      tabIndex={focused ? 0 : -1}
      data-key={key}
      data-standing={standing}
      style={{ "--level": String(Math.min(level, deepest) - 1) }}
    >
      <code>{tokens.length === 0 ? "…" : textOf(tokens)}</code>
      {ends.length > 0 && <strong class="badge">{endWords(ends)}</strong>}
      <span class="hidden">, {t("{standing}, score", { standing: standingWords(standing, running) })} </span>
      <span class="score">{scoreWords(score)}</span>
    </div>
  );
}

/** The tokens of the row in focus, each with what the model gave it. */
function RowDetail({ row, running }: RowProps) {
  const { branch, tokens, score, standing } = row;
  const known = tokens.filter(({ logprob }) => logprob !== undefined);
  const sum = known.reduce((all, { logprob = 0 }) => all + logprob, 0);
  const mean =
    known.length > 1
      ? `, ${t("{percent} for a typical token", { percent: percent(Math.exp(sum / known.length)) })}`
      : "";
  return (
    <section class="detail" aria-label={t("The branch in focus")}>
      <h3>
        {t("Branch {name}", { name: branch })}
        <small>
          {standingWords(standing, running)} · {tokenWords(tokens.length)} ·{" "}
          {t("score {score}", { score: scoreWords(score) })}
          {mean}
        </small>
      </h3>
      <ol class="branch-tokens">
        {tokens.slice(0, atOnce).map((token, i) => (
          <TokenEntry key={`${i} ${token.id}`} token={token} />
        ))}
      </ol>
      {tokens.length > atOnce && (
        <p class="hint">{t("and {tokens} more", { tokens: tokenWords(tokens.length - atOnce) })}</p>
      )}
    </section>
  );
}

function TokenEntry({ token: { token, logprob } }: { token: BranchToken }) {
  return (
    <li>
      <code>{visibleToken(token)}</code>{" "}
      <small>{logprob === undefined ? "–" : percent(Math.exp(logprob))}</small>
    </li>
  );
}

/** Tokens as a text. The space that a word begins with is seen in its tokens. */
function textOf(tokens: readonly BranchToken[]): string {
  const text = tokens.map(({ token }) => inText(token)).join("");
  return text.trim() === "" ? visibleToken(text) : text.trim();
}

function endWords(ends: readonly number[]): string {
  return ends.length === 1 && ends[0] === 0
    ? t("the answer")
    : t("choice {numbers}", { numbers: ends.map((n) => count(n + 1)).join(", ") });
}

/** A score, with a minus sign that stands as high as figures do. */
function scoreWords(score: number | undefined): string {
  return score === undefined ? "–" : score.toFixed(2).replace("-", "−");
}
