// SPDX-License-Identifier: MIT

// Chooses the answer to compare with, or has one written.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import { t } from "../../language/language.ts";
import type { Palette } from "../../trace/tokencolours.ts";
import { variations } from "../../trace/variations.ts";
import { useApp } from "../appcontext.ts";
import type { AnswerReader } from "./answerreader.ts";
import { Comparison } from "./comparison.tsx";

interface Props {
  chat: Chat;
  id: string;
  reader: AnswerReader;
  palette: Palette;
  compared: string | undefined; // the answer to compare with
  other: Signal<string | undefined>; // chooses it
}

/** Chooses an answer to compare with, or has one written, and shows both. */
export function ComparePanel({ chat, id, reader, palette, compared, other }: Props) {
  const siblings = chat.tree.siblings(id);
  const panel = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    // What was above it is gone, and the view may be where that was.
    if (compared !== undefined) panel.current?.scrollIntoView();
  }, [compared]);
  return (
    <section class="compare" aria-label={t("Compare")} ref={panel}>
      <div class="comparing">
        <label>
          {t("Compare with")}
          <select
            value={compared ?? ""}
            onChange={(event) => {
              other.value = event.currentTarget.value || undefined;
            }}
          >
            <option value="">{t("nothing")}</option>
            {siblings.map(
              (sibling, i) =>
                sibling !== id && (
                  <option key={sibling} value={sibling}>
                    {t("version {n} of this answer", { n: i + 1 })}
                  </option>
                ),
            )}
          </select>
        </label>
        <Another chat={chat} id={id} other={other} />
      </div>
      {compared !== undefined && (
        <Comparison key={compared} chat={chat} a={reader} other={compared} palette={palette} />
      )}
    </section>
  );
}

/** Has the answer written again, with the same seed and one thing changed. */
function Another({ chat, id, other }: { chat: Chat; id: string; other: Signal<string | undefined> }) {
  const { connection } = useApp();
  const seed = chat.tree.node(id).value.answer?.seed;
  const settings = chat.settings.value;
  const busy = connection.status.value.kind !== "online" || chat.run !== undefined;
  const choices = useMemo(() => variations(settings, seed), [settings, seed]);
  const chosen = useSignal(Math.min(1, choices.length - 1));
  useEffect(() => {
    chosen.value = Math.min(1, choices.length - 1);
  }, [choices, chosen]);
  return (
    <div class="another">
      <label>
        {seed === undefined ? t("Write another,") : t("Write another, same seed,")}{" "}
        <select
          value={String(chosen.value)}
          onChange={(event) => {
            chosen.value = Number(event.currentTarget.value);
          }}
        >
          {choices.map(({ label }, i) => (
            <option key={label} value={String(i)}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="quiet"
        aria-disabled={busy} // not disabled: it would lose the focus to nowhere
        onClick={() => {
          if (busy) return;
          const choice = choices[chosen.peek()];
          if (choice !== undefined) other.value = chat.answerAgain(id, choice.settings).id;
        }}
      >
        {t("Write and compare")}
      </button>
    </div>
  );
}
