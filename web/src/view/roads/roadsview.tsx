// SPDX-License-Identifier: MIT

// Roads not taken: tints the words of an answer that the model was unsure of, shows what it might
// have written instead, and writes the answer again from such a word.
import "../../style/roads.css";
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import type { Candidate } from "../../host/protocol.ts";
import { list, t, tn, tx } from "../../language/language.ts";
import { count } from "../../text/numberformat.ts";
import { alignment, spanOf } from "../../trace/align.ts";
import { beginningAt, type Fork, forksOf, piecesWith, textsOf } from "../../trace/roads.ts";
import type { Piece } from "../../trace/tokenitems.ts";
import { actor, percent, visibleToken } from "../../trace/tokenwords.ts";
import { tracedAgain } from "../../trace/variations.ts";
import { useApp } from "../appcontext.ts";
import { DrawnText, highlight, proseOf, whenRedrawn } from "../drawntext.ts";
import { Icon } from "../icon.tsx";
import { useReader } from "../inspector/answerreader.ts";
import { ComputedAgain, type Standing } from "./computedagain.ts";

interface Props {
  chat: Chat;
  id: string;
  close(): void;
}

const tints = ["unsure-1", "unsure-2", "unsure-3"]; // highlights of the style sheet
const backedUp = "backed-up";
const here = "unsure-here";

/**
 * The words of an answer that might have been others. An answer without a record is computed again.
 */
export default function RoadsView(props: Props) {
  const kept = useSignal(0); // how often a record was kept since
  return <Roads key={kept.value} {...props} again={kept.value === 0} done={() => kept.value++} />;
}

interface RoadsProps extends Props {
  again: boolean; // it may be computed again
  done(): void; // and was
}

function Roads({ chat, id, close, again, done }: RoadsProps) {
  const reader = useReader(id);
  const forks = useMemo(() => forksOf(reader.items.value), [reader.items.value]);
  const at = useSignal(0); // the fork that is looked at
  const shown = Math.min(at.value, forks.length - 1);
  const fork = forks[shown];
  const go = (to: number) => {
    at.value = Math.max(0, Math.min(to, forks.length - 1));
  };
  useMarks(id, reader.pieces.value, forks, shown, go);
  if (reader.state.value === "loading")
    return (
      <p class="roads" role="status">
        {t("Looking for the token record…")}
      </p>
    );
  if (reader.state.value === "none" && again) return <Again chat={chat} id={id} close={close} done={done} />;
  return (
    <section
      class="roads"
      aria-label={t("Other words")}
      onKeyDown={(event) =>
        steps(
          event,
          () => go(shown - 1),
          () => go(shown + 1),
        )
      }
    >
      <header>
        <p role="status">{said(reader.state.value === "none", forks)}</p>
        <Close close={close} />
      </header>
      {fork !== undefined && (
        <>
          <Stepper at={shown} of={forks.length} go={go} />
          <ForkView chat={chat} id={id} fork={fork} pieces={reader.pieces.value} close={close} />
        </>
      )}
    </section>
  );
}

function Close({ close }: { close(): void }) {
  return (
    <button
      type="button"
      class="quiet"
      aria-label={t("Close other words")}
      title={t("Close")}
      onClick={close}
    >
      <Icon name="close" />
    </button>
  );
}

/** Computes an answer again, for the record of its tokens. */
function Again({ chat, id, close, done }: Omit<RoadsProps, "again">) {
  const app = useApp();
  const computed = useMemo(() => new ComputedAgain(app, chat, id), [app, chat, id]);
  const online = app.connection.status.value.kind === "online";
  const standing = computed.standing.value;
  useEffect(() => {
    if (online) computed.start();
  }, [computed, online]);
  useEffect(() => () => computed.stop(), [computed]);
  useEffect(() => {
    if (standing === "done") done();
  }, [standing]);
  const { tokens, of } = computed.progress;
  const another = () => {
    close();
    chat.answerAgain(id, tracedAgain(chat.settings.peek(), chat.tree.node(id).peek().answer?.seed));
  };
  return (
    <section class="roads" aria-label={t("Other words")}>
      <header>
        <p role="status">{standings[standing]}</p>
        <Close close={close} />
      </header>
      {standing === "running" && <progress aria-label={t("Tokens")} max={of} value={tokens} />}
      {standing === "otherwise" && (
        <button type="button" class="quiet" disabled={!online} onClick={another}>
          {t("Write another answer with a record")}
        </button>
      )}
    </section>
  );
}

const standings: Record<Standing, string> = {
  idle: t("For this the answer is computed again, once the server is reached."),
  running: t("Computing the answer again, to see of which words the model was unsure…"),
  done: t("Computing the answer again, to see of which words the model was unsure…"),
  failed: t("The server could not compute the answer again."),
  otherwise: t(
    "The server writes this answer otherwise now, perhaps because settings were changed since. So of which words the model was unsure is not known.",
  ),
};

function said(lost: boolean, forks: readonly Fork[]): string {
  if (lost) return t("This browser does not keep the record of what the model was unsure of.");
  const unsure = forks.filter(({ shade }) => shade > 0).length;
  const backed = forks.filter(({ instead }) => instead.length > 0).length;
  if (unsure + backed === 0) return t("The model was sure of every word.");
  const parts = [
    ...(unsure > 0 ? [tn(unsure, "was unsure of {n} word", "was unsure of {n} words")] : []),
    ...(backed > 0 ? [tn(backed, "backed up at {n} place", "backed up at {n} places")] : []),
  ];
  return t("The model {did}. Press one in the text, or step through.", { did: list(parts) });
}

/** The arrows step through the words. */
function steps(event: KeyboardEvent, back: () => void, on: () => void): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  event.preventDefault();
  event.stopPropagation(); // else they would walk between the versions of the answer
  if (event.key === "ArrowLeft") back();
  else on();
}

function Stepper({ at, of, go }: { at: number; of: number; go(to: number): void }) {
  return (
    <p class="stepper">
      <button
        type="button"
        class="quiet"
        aria-label={t("Previous word")}
        title={t("Previous word (←)")}
        aria-disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        <Icon name="left" />
      </button>
      <span>{t("{n} of {all}", { n: count(at + 1), all: count(of) })}</span>
      <button
        type="button"
        class="quiet"
        aria-label={t("Next word")}
        title={t("Next word (→)")}
        aria-disabled={at === of - 1}
        onClick={() => go(at + 1)}
      >
        <Icon name="right" />
      </button>
    </p>
  );
}

interface ForkProps {
  chat: Chat;
  id: string;
  fork: Fork;
  pieces: readonly Piece[];
  close(): void;
}

/** One word: how likely it was, what was taken back before it, and what it might have been. */
function ForkView({ chat, id, fork, pieces, close }: ForkProps) {
  const app = useApp();
  const { place, p, roads, instead } = fork;
  const online = app.connection.status.value.kind === "online";
  const word = pieces[place]?.trace?.token ?? pieces[place]?.text ?? "";
  const shown = <code>{visibleToken(word)}</code>;
  const take = (road: Candidate) => {
    const begun = beginningAt(chat.tree.node(id).peek(), pieces, place, road.token);
    if (begun === undefined) {
      app.notice.value = t(
        "This word is no part of the text that is shown, so the answer cannot go on from it.",
      );
      return;
    }
    close();
    const run = chat.goOnFrom(id, begun);
    void app.traces.keep(run.id, chat.id, piecesWith(pieces, place, road));
  };
  return (
    <div class="fork" aria-live="polite">
      {instead.length > 0 && <BackedUp fork={fork} word={word} />}
      <p>
        {Number.isNaN(p)
          ? tx("{word} was put here.", { word: shown })
          : tx("{word} was chosen; the model gave it {p}.", { word: shown, p: percent(p) })}{" "}
        {roads.length > 0 && t("It might have been:")}
      </p>
      <ul>
        {roads.map((road) => (
          <li key={road.id}>
            <button
              type="button"
              class="road"
              disabled={!online}
              title={t("Write the answer again from this word")}
              onClick={() => take(road)}
            >
              <code>{visibleToken(road.token)}</code> <small>{percent(road.p)}</small>
            </button>
          </li>
        ))}
      </ul>
      {roads.length > 0 && (
        <p class="hint">{t("Choose one, and the answer is written again from there, beside this one.")}</p>
      )}
    </div>
  );
}

/** What was written here at first, and who took it back. */
function BackedUp({ fork: { instead }, word }: { fork: Fork; word: string }) {
  const by = [...new Set(instead.map(({ takenBy = "" }) => actor(takenBy).replace(/^plugin:/, "")))];
  return (
    <p>
      {tx("{who} backed up here: {earlier}, then {word}.", {
        who: <strong>{by.join(", ")}</strong>,
        earlier: <s>{visibleToken(instead.map(({ text }) => text).join(""))}</s>,
        word: <code>{visibleToken(word)}</code>,
      })}
    </p>
  );
}

/** Tints the words in the text of the chat; one that is pressed is looked at. */
function useMarks(
  id: string,
  pieces: readonly Piece[],
  forks: readonly Fork[],
  shown: number,
  go: (to: number) => void,
): void {
  const latest = useRef({
    go,
    spans: [] as (readonly [number, number] | undefined)[],
    drawn: new DrawnText([]),
  });
  latest.current.go = go;
  const drawn = useSignal(0); // how often the text was drawn since
  useEffect(() => whenRedrawn(proseOf(id), () => drawn.value++), [id, drawn]);
  useEffect(() => {
    const text = new DrawnText(proseOf(id));
    const texts = textsOf(pieces);
    const spans = spansOf(texts, forks, alignment(texts.join(""), text.text));
    latest.current.drawn = text;
    latest.current.spans = spans;
    const ranges = (fits: (fork: Fork) => boolean) =>
      spans.map((span, i) => {
        const fork = forks[i];
        return span !== undefined && fork !== undefined && fits(fork) ? text.range(...span) : undefined;
      });
    for (const [i, name] of tints.entries())
      highlight(
        name,
        ranges(({ shade }) => shade === i + 1),
      );
    highlight(
      backedUp,
      ranges(({ instead }) => instead.length > 0),
    );
    highlight(
      here,
      ranges((fork) => fork === forks[shown]),
    );
  }, [id, pieces, forks, shown, drawn.value]);
  useEffect(() => {
    const press = (event: MouseEvent) => {
      const { drawn: text, spans, go: to } = latest.current;
      const offset = offsetAt(event, text);
      const pressed = spans.findIndex((span) => span !== undefined && span[0] <= offset && offset <= span[1]);
      if (pressed >= 0) to(pressed);
    };
    const texts = proseOf(id) as HTMLElement[];
    for (const prose of texts) prose.addEventListener("click", press);
    return () => {
      for (const prose of texts) prose.removeEventListener("click", press);
      for (const name of [...tints, backedUp, here]) highlight(name, []);
    };
  }, [id]);
}

/** Where the tokens of forks stand in the text that is drawn, without the spaces around them. */
function spansOf(
  texts: readonly string[],
  forks: readonly Fork[],
  places: Int32Array,
): (readonly [number, number] | undefined)[] {
  const starts: number[] = [];
  let length = 0;
  for (const text of texts) {
    starts.push(length);
    length += text.length;
  }
  return forks.map(({ place }) => {
    const from = starts[place] ?? length;
    const span = spanOf(places, from, starts[place + 1] ?? length);
    return span && ([span.from, span.to] as const);
  });
}

/** Where in the text a mouse or a finger is; −1 where that is not known. */
function offsetAt({ clientX: x, clientY: y }: MouseEvent, drawn: DrawnText): number {
  if ("caretPositionFromPoint" in document) {
    const caret = document.caretPositionFromPoint(x, y);
    return caret === null ? -1 : drawn.offsetOf(caret.offsetNode, caret.offset);
  }
  const range = (document as Document).caretRangeFromPoint(x, y); // Safari before 2026
  return range === null ? -1 : drawn.offsetOf(range.startContainer, range.startOffset);
}
