// SPDX-License-Identifier: MIT

// The tokens of an answer, each of which can have the focus.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Palette } from "../../trace/tokencolours.ts";
import type { TokenItem } from "../../trace/tokenitems.ts";
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

const inChunk = 150;
const page = 20; // tokens that a key for pages goes over

/** The text of an answer, token by token: a list of which one entry has the focus. */
export function TokenList({ reader, palette, label, parted, moved }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const items = reader.items.value;
  const at = reader.at.value;
  const chunks = Math.ceil(items.length / inChunk);
  const drawn = useDrawn(chunks, Math.floor(at / inChunk) + 1);
  useLayoutEffect(() => {
    const element = option(list.current, at);
    if (list.current?.contains(document.activeElement)) element?.focus({ preventScroll: true });
    if (element && list.current) reveal(list.current, element);
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
      {Array.from({ length: Math.min(drawn, chunks) }, (_, n) => (
        <Chunk
          key={n}
          items={items}
          from={n * inChunk}
          focus={Math.floor(at / inChunk) === n ? at : -1}
          palette={palette}
          parted={parted}
        />
      ))}
    </div>
  );
}

interface ChunkProps {
  items: readonly TokenItem[];
  from: number;
  focus: number;
  palette: Palette;
  parted: number | undefined;
}

/** Some tokens in a row. They are drawn anew only if one of them changes. */
function Chunk({ items, from, focus, palette, parted }: ChunkProps) {
  const end = Math.min(items.length, from + inChunk);
  return useMemo(
    () => (
      <span class="chunk" role="presentation">
        {items.slice(from, end).map((item, i) => (
          <Token
            key={from + i}
            item={item}
            at={from + i}
            focused={from + i === focus}
            palette={palette}
            parted={parted}
          />
        ))}
      </span>
    ),
    [items[from], items[end - 1], end, focus, palette, parted],
  );
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
  if (takenBy !== undefined) return `${word}, taken back by ${actor(takenBy)}`;
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

/**
 * How many chunks are drawn: a few at once, the others frame by frame, and all up to the one with
 * the focus.
 */
function useDrawn(chunks: number, least: number): number {
  const drawn = useSignal(2);
  const now = Math.max(drawn.value, least);
  useEffect(() => {
    if (now >= chunks) return;
    const frame = requestAnimationFrame(() => {
      drawn.value = now + 2;
    });
    return () => cancelAnimationFrame(frame);
  }, [now, chunks, drawn]);
  return now;
}

function option(list: HTMLElement | null, at: number): HTMLElement | null {
  return list?.querySelector<HTMLElement>(`[data-at="${at}"]`) ?? null;
}

/** Scrolls the list, and nothing around it, so that the token can be seen. */
function reveal(list: HTMLElement, token: HTMLElement): void {
  const [box, own] = [list.getBoundingClientRect(), token.getBoundingClientRect()];
  if (own.top < box.top || own.bottom > box.bottom)
    list.scrollTop += own.top - box.top - (list.clientHeight - own.height) / 2;
}
