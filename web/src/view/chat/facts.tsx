// SPDX-License-Identifier: MIT
import { type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useApp } from "../../app.ts";
import { contextUsed, facts } from "../../chats/facts.ts";
import type { Message } from "../../chats/message.ts";
import { progressWords } from "../../live/progress.ts";

const every = 500; // milliseconds between two looks at how fast an answer grows
const looks = 6; // of which the speed is the mean

/** What there is to know of an answer, in a line. */
export function Facts({ node }: { node: ReadonlySignal<Message> }) {
  const { answers, progresses } = useApp();
  const speed = useSpeed(node);
  const progress = useComputed(() => {
    const { id, answer } = node.value;
    if (answer?.phase !== "waiting") return undefined;
    return progresses.of(answers.running.value.get(id)?.name, answer.model);
  });
  const line = useComputed(() => {
    const { answer } = node.value;
    return answer && facts(answer, { waits: progressWords(progress.value), speed: speed.value });
  });
  const shown = progress.value;
  return (
    <>
      {shown?.kind === "reading" && (
        <progress class="reading" max={shown.total} value={shown.done} aria-label="Reading the prompt" />
      )}
      <span class="facts">{line}</span>
      <Gauge node={node} />
    </>
  );
}

/** How many tokens a second come at present; 0 while that is not known. */
function useSpeed(node: ReadonlySignal<Message>): ReadonlySignal<number> {
  const speed = useSignal(0);
  const streams = useComputed(() => node.value.answer?.phase === "streaming");
  useSignalEffect(() => {
    speed.value = 0;
    if (!streams.value) return undefined;
    const seen: { time: number; tokens: number }[] = [];
    const look = () => {
      const now = { time: performance.now(), tokens: node.peek().answer?.tokens ?? 0 };
      const first = seen.length < looks ? seen[0] : seen.shift();
      seen.push(now);
      if (first !== undefined)
        speed.value = Math.max(0, (1000 * (now.tokens - first.tokens)) / (now.time - first.time));
    };
    look();
    const clock = setInterval(look, every);
    return () => clearInterval(clock);
  });
  return speed;
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
