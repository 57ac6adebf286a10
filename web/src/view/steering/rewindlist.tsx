// SPDX-License-Identifier: MIT

// The last tokens of a paused answer, to choose where it is rewound to.
import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { t } from "../../language/language.ts";
import { tokens } from "../../text/numberformat.ts";

const most = 120; // tokens to choose from

/**
 * The last tokens of a paused answer. The one that is chosen is taken back with all that follow
 * it.
 */
export function RewindList({ run }: { run: RunningAnswer }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const focused = useSignal(-1); // as an index into pieces; −1: the last one
  const { length } = run.pieces;
  useLayoutEffect(() => {
    list.current?.scrollTo(0, list.current.scrollHeight); // the end is what the reader looks at
  }, [length]);
  if ((run.message.value.answer?.tokens ?? 0) === 0 || length === 0) return null;
  const from = Math.max(0, length - most);
  const at = focused.value < from || focused.value >= length ? length - 1 : focused.value;
  const go = (event: KeyboardEvent) => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: from, End: length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    focused.value = Math.min(length - 1, Math.max(from, to));
    list.current?.querySelectorAll("button")[focused.value - from]?.focus();
  };
  return (
    <div class="place">
      <p id={id}>{t("Click a token to take it back, with all that follow.")}</p>
      <div role="toolbar" aria-labelledby={id} class="pieces" ref={list} onKeyDown={go}>
        {run.pieces.slice(from).map(({ text }, i) => {
          const back = length - from - i;
          return (
            <button
              key={i}
              type="button"
              tabIndex={from + i === at ? 0 : -1}
              aria-label={t("Take back from “{text}”: {tokens}", {
                text: text.trim() || t("a space"),
                tokens: tokens(back),
              })}
              onClick={() => run.rewind(back)}
              onFocus={() => {
                focused.value = from + i;
              }}
            >
              {visible(text)}
            </button>
          );
        })}
      </div>
    </div>
  );
}

/** A token's text where spaces and line breaks can be seen. */
function visible(text: string): string {
  return text === "" ? "·" : text.replaceAll("\n", "⏎").replaceAll("\t", "⇥");
}
