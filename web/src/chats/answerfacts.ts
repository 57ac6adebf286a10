// SPDX-License-Identifier: MIT

// The line below an answer: tokens, speed, and why it ended.
import { t } from "../language/language.ts";
import { duration, rate, tokens } from "../text/numberformat.ts";
import type { Answering, Outcome } from "./message.ts";

const long = 500; // milliseconds of waiting for a place that are worth telling

const endings: Record<Outcome["reason"], string> = {
  stop: "",
  length: t("cut at the token limit"),
  cancelled: t("stopped"),
  error: "",
  tool_calls: t("asks for a tool"),
};

/** What is known of an answer besides itself. */
export interface Circumstances {
  waits?: string; // what for, in words
  speed?: number; // tokens a second
  model?: string; // which wrote it, where there are several
}

/**
 * One line about an answer: how many tokens, how fast, how long to the first, why it ended early.
 */
export function answerFacts(
  answer: Answering,
  { waits = t("Waiting for the server…"), speed = 0, model = "" }: Circumstances = {},
): string {
  const { outcome, phase, first, asked } = answer;
  if (phase === "waiting") return waits;
  if (phase === "lost" && answer.stream === undefined) return t("Waiting for the connection…");
  if (phase === "stopping") return t("Stopping…");
  if (answer.edited && tokensOf(answer) === 0) return t("written by you");
  const parts = [model, tokens(tokensOf(answer))];
  const { predicted_per_second: perSecond = 0, queued_ms: queued = 0 } = outcome?.timings ?? {};
  if (phase === "streaming" && speed > 0) parts.push(speedWords(speed));
  if (perSecond > 0) parts.push(speedWords(perSecond));
  if (first !== undefined && outcome !== undefined)
    parts.push(t("first after {time}", { time: duration(first - asked) }));
  if (queued >= long) parts.push(t("waited {time} in the queue", { time: duration(queued) }));
  if (phase === "paused") parts.push(t("paused"));
  if (phase === "lost") parts.push(t("the connection is lost; the server goes on"));
  if (answer.edited) parts.push(t("begun by you"));
  if (outcome !== undefined) parts.push(endings[outcome.reason] ?? outcome.reason);
  return parts.filter((part) => part !== "").join(" · ");
}

/**
 * The one figure of an answer that has ended: how fast it was, and what a reader must know
 * besides. Empty while it runs.
 */
export function answerFigure(answer: Answering, several: boolean): string {
  const { outcome, phase } = answer;
  if (phase !== "done" || outcome === undefined) return "";
  const { predicted_per_second: perSecond = 0 } = outcome.timings ?? {};
  const speed = perSecond > 0 ? speedWords(perSecond) : tokens(tokensOf(answer));
  const made = answer.edited && tokensOf(answer) === 0 ? t("written by you") : speed;
  return [several ? answer.model : "", made, endings[outcome.reason] ?? ""]
    .filter((part) => part !== "")
    .join(" · ");
}

function speedWords(perSecond: number): string {
  return t("{rate} tokens/s", { rate: rate(perSecond) });
}

/** How many tokens the answer has. */
function tokensOf({ tokens, earlier, outcome }: Answering): number {
  const made = outcome?.usage?.completion_tokens;
  return made === undefined ? tokens : made + (earlier?.tokens ?? 0);
}

/**
 * How many tokens of the model's context the answer and what came before it fill; undefined if
 * that is not known.
 */
export function contextUsed({ promptTokens, tokens, earlier, outcome }: Answering): number | undefined {
  const { usage } = outcome ?? {};
  if (usage !== undefined) return usage.prompt_tokens + usage.completion_tokens;
  return promptTokens === undefined ? undefined : promptTokens + tokens - (earlier?.tokens ?? 0);
}

/** Whether it makes sense to go on with the answer: it has a text, and did not end by itself. */
export function canGoOn({ phase, outcome, edited }: Answering, text: string): boolean {
  return (
    phase === "done" &&
    text !== "" &&
    (edited === true || outcome?.reason !== "stop") &&
    outcome?.reason !== "tool_calls"
  );
}
