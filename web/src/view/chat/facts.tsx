// SPDX-License-Identifier: MIT
import { type ReadonlySignal, useComputed } from "@preact/signals";
import { useApp } from "../../app.ts";
import { contextUsed, facts } from "../../chats/facts.ts";
import type { Message } from "../../chats/message.ts";

/** What there is to know of an answer, in a line. */
export function Facts({ node }: { node: ReadonlySignal<Message> }) {
  const line = useComputed(() => node.value.answer && facts(node.value.answer));
  return (
    <>
      <span class="facts">{line}</span>
      <Gauge node={node} />
    </>
  );
}

const around = 2 * Math.PI * 7; // of the circle

/** How full the model's context is. */
function Gauge({ node }: { node: ReadonlySignal<Message> }) {
  const { props, models } = useApp();
  const percent = useComputed(() => {
    const { answer } = node.value;
    const { context, model } = props.value;
    const used = answer && contextUsed(answer);
    const same = models.value.length < 2 || model === undefined || answer?.model === model;
    return used === undefined || !same || !context
      ? undefined
      : Math.min(100, Math.ceil((100 * used) / context));
  });
  const value = percent.value;
  if (value === undefined) return null;
  const tokens = new Intl.NumberFormat("en").format(props.value.context ?? 0);
  return (
    <span
      class="gauge"
      data-full={value >= 90}
      title={`The question, what came before it and the answer fill ${value} % of the ${tokens} tokens that the model can have in mind.`}
    >
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx="10" cy="10" r="7" />
        <circle
          cx="10"
          cy="10"
          r="7"
          stroke-dasharray={`${(value / 100) * around} ${around}`}
          transform="rotate(-90 10 10)"
        />
      </svg>
      {value} %<span class="hidden"> of the context used</span>
    </span>
  );
}
