// SPDX-License-Identifier: MIT

// The tool calls of an answer.
import { type ReadonlySignal, useComputed } from "@preact/signals";
import { useCallback } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import { callsOf, type Message } from "../../chats/message.ts";
import { readableArguments } from "../../chats/toolarguments.ts";
import type { ToolCall } from "../../host/protocol.ts";
import { t, tx } from "../../language/language.ts";
import { splitControls } from "../../text/bidi.ts";
import { useApp } from "../appcontext.ts";
import { Lazy } from "../lazy.tsx";

interface Props {
  chat: Chat;
  node: ReadonlySignal<Message>;
  done: ReadonlySignal<boolean>;
}

interface Answered {
  chat: Chat;
  id: string;
  call: ToolCall;
}

const none: NonNullable<Message["calls"]> = [];

/** The tools that the model wants to be called, each with its arguments and what it answered. */
export function ToolCalls({ chat, node, done }: Props) {
  const app = useApp();
  const load = useCallback(async () => {
    const [{ CallResult }, calls] = await Promise.all([import("../tools/callresult.tsx"), app.toolCalls()]);
    return { default: (of: Answered) => <CallResult {...of} calls={calls} /> };
  }, [app]);
  const calls = useComputed(() => node.value.calls ?? none);
  const answered = useComputed(() => done.value && callsOf(node.value).length > 0);
  if (calls.value.length === 0) return null;
  return (
    <ul class="calls" aria-label={t("Tool calls")}>
      {calls.value.map((call) => (
        <li key={call.id}>
          <details open>
            <summary>{tx("Calls {name}", { name: <code>{call.function.name}</code> })}</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
            <pre tabIndex={0}>
              {splitControls(
                done.value ? readableArguments(call.function.arguments) : call.function.arguments,
              ).map(({ text, control }) => (control ? <span class="control" data-name={control} /> : text))}
            </pre>
          </details>
          {answered.value && <Lazy load={load} with={{ chat, id: node.peek().id, call }} />}
        </li>
      ))}
    </ul>
  );
}
