// SPDX-License-Identifier: MIT

// The line of facts below an answer.
import { type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { answerFacts, answerFigure, contextUsed } from "../../chats/answerfacts.ts";
import type { Message } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { progressWords } from "../../live/progress.ts";
import { useApp } from "../appcontext.ts";

const every = 500; // milliseconds between two looks at how fast an answer grows
const looks = 6; // of which the speed is the mean

/** What there is to know of an answer, in a line. */
export function FactsLine({ node }: { node: ReadonlySignal<Message> }) {
  const { answers, progresses, models } = useApp();
  const speed = useSpeed(node);
  const progress = useComputed(() => {
    const { id, answer } = node.value;
    if (answer?.phase !== "waiting") return undefined;
    return progresses.of(answers.running.value.get(id)?.name, answer.model);
  });
  const branching = useComputed(() => {
    const { id } = node.value;
    return (answers.running.value.get(id)?.changes.length ?? 0) > 0;
  });
  const line = useComputed(() => {
    const { answer } = node.value;
    return (
      answer &&
      answerFacts(answer, {
        waits: branching.value ? t("A program works on this answer…") : progressWords(progress.value),
        speed: speed.value,
        model: models.value.length > 1 ? answer.model : "",
      })
    );
  });
  const quiet = useComputed(() => {
    const { answer } = node.value;
    return answer === undefined ? "" : answerFigure(answer, models.value.length > 1);
  });
  const shown = progress.value;
  return (
    <>
      {shown?.kind === "reading" && (
        <progress class="reading" max={shown.total} value={shown.done} aria-label={t("Reading the prompt")} />
      )}
      {quiet.value === "" || quiet.value === line.value ? (
        <span class="facts">{line}</span>
      ) : (
        <details class="figures">
          <summary title={t("The answer in figures")}>{quiet}</summary>
          <span class="facts">{line}</span>
        </details>
      )}
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
    const clock = setInterval(look, every); // what a fork or a reload is told of before comes at once
    return () => clearInterval(clock);
  });
  return speed;
}

const around = 2 * Math.PI * 7; // of the circle

/** How full the model's context is. */
function Gauge({ node }: { node: ReadonlySignal<Message> }) {
  const app = useApp();
  const model = useComputed(() => node.value.answer?.model ?? "");
  const room = useComputed(() => app.contextOf(model.value));
  const done = useComputed(() => node.value.answer?.phase === "done");
  useSignalEffect(() => {
    // It was loaded for this answer, so the page has not been told of it.
    const unknown = done.value && room.value === undefined && app.models.peek().includes(model.value);
    if (unknown) app.refreshModels().catch(() => {});
  });
  const percent = useComputed(() => {
    const { answer } = node.value;
    const used = answer && contextUsed(answer);
    return used === undefined || !room.value
      ? undefined
      : Math.min(100, Math.ceil((100 * used) / room.value));
  });
  const { value } = percent;
  const { value: context } = room;
  if (value === undefined) return null;
  return (
    <span
      class="gauge"
      data-full={value >= 90}
      title={t(
        "The question, what came before it and the answer fill {percent} % of the {n} tokens that the model can have in mind.",
        { percent: value, n: context ?? 0 },
      )}
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
      {value} %<span class="hidden"> {t("of the context used")}</span>
    </span>
  );
}
