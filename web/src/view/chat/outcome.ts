// SPDX-License-Identifier: MIT
import type { Answering, Outcome } from "../../chats/message.ts";

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const rate = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const endings: Record<Outcome["reason"], string> = {
  stop: "",
  length: "cut at the token limit",
  cancelled: "stopped",
  error: "",
  tool_calls: "asks for a tool",
};

/** One line about an answer: how many tokens, how fast, how long to the first, why it ended early. */
export function summary(answer: Answering): string {
  const { outcome, phase, tokens, first, asked } = answer;
  if (phase === "waiting") return "Waiting for a slot…";
  if (phase === "stopping") return "Stopping…";
  const parts = [count(outcome?.usage?.completion_tokens ?? tokens)];
  const perSecond = outcome?.timings?.predicted_per_second ?? 0;
  if (perSecond > 0) parts.push(`${rate.format(perSecond)} tokens/s`);
  if (first !== undefined && outcome !== undefined) parts.push(`first after ${seconds(first - asked)}`);
  if (phase === "paused") parts.push("paused");
  if (phase === "lost") parts.push("the connection is lost; the host goes on");
  if (outcome !== undefined) parts.push(endings[outcome.reason] ?? outcome.reason);
  return parts.filter((part) => part !== "").join(" · ");
}

function count(tokens: number): string {
  return tokens === 1 ? "1 token" : `${number.format(tokens)} tokens`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${number.format(ms)} ms` : `${rate.format(ms / 1000)} s`;
}
