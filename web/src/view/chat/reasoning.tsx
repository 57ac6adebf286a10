// SPDX-License-Identifier: MIT

// The reasoning of an answer, which can be folded.
import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import type { Message } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { duration } from "../../text/numberformat.ts";
import { Icon } from "../icon.tsx";
import { Prose } from "./prose.tsx";

interface Props {
  node: ReadonlySignal<Message>;
  done: ReadonlySignal<boolean>;
}

/**
 * What the model thought before it answered. It is open while it grows, and folded once the answer
 * begins.
 */
export function Reasoning({ node, done }: Props) {
  const text = useComputed(() => node.value.reasoning ?? "");
  const exists = useComputed(() => text.value !== "");
  const over = useComputed(
    () => done.value || node.value.content !== "" || (node.value.calls ?? []).length > 0,
  );
  const title = useComputed(() => (over.value ? thought(node.value) : t("Thinking…")));
  const wanted = useSignal<boolean | undefined>(undefined); // by the reader
  if (!exists.value) return null;
  const open = wanted.value ?? !over.value;
  return (
    <details class="reasoning" open={open} data-over={over}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button */}
      <summary
        onClick={(event) => {
          event.preventDefault();
          wanted.value = !open;
        }}
      >
        <Icon name="right" />
        {title}
      </summary>
      {open && <Prose text={text} done={over} />}
    </details>
  );
}

function thought({ answer }: Message): string {
  const { first, reasonedUntil } = answer ?? {};
  return first === undefined || reasonedUntil === undefined
    ? t("Thought")
    : t("Thought for {time}", { time: duration(reasonedUntil - first) });
}
