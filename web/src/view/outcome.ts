// SPDX-License-Identifier: MIT
import type { Exchange, Outcome } from "../conversation.ts";

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const rate = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const endings: Record<Outcome["reason"], string> = {
  stop: "",
  length: "cut at the token limit",
  cancelled: "stopped",
  error: "",
  tool_calls: "asks for a tool",
};

/** One line about an answer: how many tokens, how fast, why it ended early. */
export function summary(exchange: Exchange): string {
  const { outcome, phase } = exchange;
  if (phase === "waiting") return "Waiting for a slot…";
  if (phase === "stopping") return "Stopping…";
  if (outcome === undefined) return count(exchange.pieces);
  const parts = [count(outcome.tokens)];
  if (outcome.perSecond > 0) parts.push(`${rate.format(outcome.perSecond)} tokens/s`);
  parts.push(endings[outcome.reason] ?? outcome.reason);
  return parts.filter((part) => part !== "").join(" · ");
}

function count(tokens: number): string {
  return tokens === 1 ? "1 token" : `${number.format(tokens)} tokens`;
}
