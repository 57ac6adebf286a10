// SPDX-License-Identifier: MIT

// The tool calls of an answer.
import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { Message } from "../../chats/message.ts";
import { readableArguments } from "../../chats/toolarguments.ts";
import { splitControls } from "../../text/bidi.ts";

interface Props {
  node: ReadonlySignal<Message>;
  done: ReadonlySignal<boolean>;
}

const none: NonNullable<Message["calls"]> = [];

/** The tools that the model wants to be called, each with its arguments. */
export function ToolCalls({ node, done }: Props) {
  const calls = useComputed(() => node.value.calls ?? none);
  if (calls.value.length === 0) return null;
  return (
    <ul class="calls" aria-label="Tool calls">
      {calls.value.map(({ id, function: { name, arguments: given } }) => (
        <li key={id}>
          <details open>
            <summary>
              Calls <code>{name}</code>
            </summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
            <pre tabIndex={0}>
              {splitControls(done.value ? readableArguments(given) : given).map(({ text, control }) =>
                control ? <span class="control" data-name={control} /> : text,
              )}
            </pre>
          </details>
        </li>
      ))}
    </ul>
  );
}
