// SPDX-License-Identifier: MIT

// Adds what the host's parser found to an answer: text, reasoning and tool calls.
import type { CallDelta, ToolCall } from "../host/protocol.ts";
import type { Parts } from "../host/streams.ts";
import type { Message } from "./message.ts";

/** An answer with what its host's parser has found, at a time as Date.now(). */
export function withParts(message: Message, parts: Parts, now: number): Message {
  const { reasoning: reasoned, calls: called, answer, ...rest } = message;
  const old = parts.reset === true ? before(message) : { content: rest.content, reasoned, called };
  const content = old.content + (parts.content ?? "");
  const reasoning = (old.reasoned ?? "") + (parts.reasoning ?? "");
  const calls = withCalls(old.called ?? [], parts.calls ?? []);
  const found: Message = { ...rest, content };
  if (reasoning !== "") found.reasoning = reasoning;
  if (calls.length > 0) found.calls = calls;
  if (answer !== undefined) {
    const { reasonedUntil, ...others } = answer;
    const over = reasoning !== "" && (content !== "" || calls.length > 0);
    found.answer = over ? { ...others, reasonedUntil: reasonedUntil ?? now } : others;
  }
  return found;
}

/**
 * What a message had before its answer was continued: the host tells only of what it has made
 * since.
 */
function before({ content, reasoning = "", answer }: Message): {
  content: string;
  reasoned: string;
  called?: ToolCall[];
} {
  const { content: said = 0, reasoning: thought = 0 } = answer?.earlier ?? {};
  return { content: content.slice(0, said), reasoned: reasoning.slice(0, thought) };
}

/** Tool calls, and what is added to them. */
function withCalls(calls: ToolCall[], deltas: CallDelta[]): ToolCall[] {
  if (deltas.length === 0) return calls;
  const all = [...calls];
  for (const { index, id, function: f } of deltas) {
    if (!f || index > all.length) continue; // no host skips one
    const call = all[index] ?? { id: id ?? "", type: "function", function: { name: "", arguments: "" } };
    const grown = {
      name: call.function.name + (f.name ?? ""),
      arguments: call.function.arguments + f.arguments,
    };
    all[index] = { ...call, function: grown };
  }
  return all;
}
