// SPDX-License-Identifier: MIT

// The tokens of an answer, each of which can have the focus.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import type { Palette } from "../../trace/tokencolours.ts";
import { blockStarts, type TokenItem } from "../../trace/tokenitems.ts";
import { modelP } from "../../trace/tokentrace.ts";
import { actor, inText, percent, visibleToken } from "../../trace/tokenwords.ts";
import type { AnswerReader } from "./answerreader.ts";

interface Props {
  reader: AnswerReader;
  palette: Palette;
  label: string;
  parted?: number | undefined; // the place from which on it differs from another answer
  moved?(): void; // another token is in focus
}

const page = 20; // tokens that a key for pages goes over

/** The text of an answer, token by token: a list of which one entry has the focus. */
export function TokenList({ reader, palette, label, parted, moved }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const items = reader.items.value;
  const at = reader.at.value;
  const starts = useMemo(() => blockStarts(items), [items]);
  const focused = Math.max(
    0,
    starts.findLastIndex((start) => start <= at),
  );
  const drawn = useDrawn(starts.length, focused);
  useLayoutEffect(() => {
    const element = list.current?.children[focused]?.children[at - (starts[focused] ?? 0)];
    if (!(element instanceof HTMLElement) || list.current === null) return;
    if (list.current.contains(document.activeElement)) element.focus({ preventScroll: true });
    reveal(list.current, element);
  }, [at]);
  const go = (to: number) => {
    reader.focus(to);
    moved?.();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = target(event.key, at, items.length);
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <div
      class="tokens"
      role="listbox"
      aria-label={label}
      aria-orientation="horizontal"
      ref={list}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const chosen = (event.target as Element).closest<HTMLElement>("[data-at]");
        if (chosen !== null) go(Number(chosen.dataset.at));
      }}
    >
      {starts.map((from, n) => (
        <Block
          key={n}
          items={items}
          from={from}
          end={starts[n + 1] ?? items.length}
          drawn={drawn.has(n)}
          focus={n === focused ? at : -1}
          palette={palette}
          parted={parted}
        />
      ))}
    </div>
  );
}

interface BlockProps {
  items: readonly TokenItem[];
  from: number;
  end: number;
  drawn: boolean; // else it only takes its place
  focus: number;
  palette: Palette;
  parted: number | undefined;
}

/**
 * Some tokens in a row. They are drawn anew only if one of them changes, and the browser lays them
 * out only if they are in sight.
 */
function Block({ items, from, end, drawn, focus, palette, parted }: BlockProps) {
  const one = (item: TokenItem, at: number, focused: boolean) => (
    <Token key={at} item={item} at={at} focused={focused} palette={palette} parted={parted} />
  );
  const tokens = useMemo(
    () => (drawn ? items.slice(from, end).map((item, i) => one(item, from + i, false)) : []),
    [items[from], items[end - 1], end, drawn, palette, parted],
  );
  return useMemo(() => {
    const item = items[focus];
    return (
      <div class={drawn ? "token-block" : "token-block waiting"} role="presentation">
        {drawn && item ? tokens.with(focus - from, one(item, focus, true)) : tokens}
      </div>
    );
  }, [tokens, focus]);
}

interface TokenProps {
  item: TokenItem;
  at: number;
  focused: boolean;
  palette: Palette;
  parted: number | undefined;
}

function Token({ item, at, focused, palette, parted }: TokenProps) {
  const shade = palette.shade(item);
  const text = inText(item.text);
  const lead = text.startsWith(" ") ? " " : ""; // outside of the colour: it may end a line
  const classes = ["token", shade.name];
  if (item.takenBy !== undefined) classes.push("taken");
  if (parted !== undefined)
    classes.push(item.place < parted ? "common" : item.place === parted ? "parting" : "");
  return (
    <span
      class={classes.filter((name) => name !== "").join(" ")}
      role="option"
      tabIndex={focused ? 0 : -1}
      aria-selected={focused}
      aria-label={spoken(item, shade.label)}
      data-at={at}
      data-sign={shade.sign || undefined}
    >
      {lead}
      <b>{text.slice(lead.length)}</b>
    </span>
  );
}

function spoken({ text, takenBy, trace }: TokenItem, label: string): string {
  const word = text.trim() === "" ? visibleToken(text) : text.trim();
  if (takenBy !== undefined) return t("{word}, taken back by {who}", { word, who: actor(takenBy) });
  const p = trace && modelP(trace);
  return [word, p === undefined ? "" : percent(p), label].filter((part) => part !== "").join(", ");
}

function target(key: string, at: number, length: number): number | undefined {
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return Math.min(at + 1, length - 1);
    case "ArrowLeft":
    case "ArrowUp":
      return Math.max(at - 1, 0);
    case "PageDown":
      return Math.min(at + page, length - 1);
    case "PageUp":
      return Math.max(at - page, 0);
    case "Home":
      return 0;
    case "End":
      return length - 1;
    default:
      return undefined;
  }
}

/** Which blocks are drawn: those about the focus at once, the others frame by frame. */
function useDrawn(blocks: number, focused: number): ReadonlySet<number> {
  const drawn = useRef(new Set<number>()).current;
  const turn = useSignal(0);
  turn.value; // draws the list anew
  for (const near of [focused, focused - 1, focused + 1]) if (near >= 0 && near < blocks) drawn.add(near);
  useEffect(() => {
    const left = Array.from({ length: blocks }, (_, n) => n).filter((n) => !drawn.has(n));
    if (left.length === 0) return; // an answer may have had more blocks before tokens were taken back
    const frame = requestAnimationFrame(() => {
      for (const next of left.slice(0, 2)) drawn.add(next);
      turn.value++;
    });
    return () => cancelAnimationFrame(frame);
  });
  return drawn;
}

/** Scrolls the list, and nothing around it, so that the token can be seen. */
function reveal(list: HTMLElement, token: HTMLElement): void {
  const [box, own] = [list.getBoundingClientRect(), token.getBoundingClientRect()];
  if (own.top < box.top || own.bottom > box.bottom)
    list.scrollTop += own.top - box.top - (list.clientHeight - own.height) / 2;
}
