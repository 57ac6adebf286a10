// SPDX-License-Identifier: MIT

// What plugins reported about an answer.
import { type ReadonlySignal, useComputed } from "@preact/signals";
import type { Message } from "../../chats/message.ts";
import { t, tn } from "../../language/language.ts";
import { splitControls } from "../../text/bidi.ts";
import { tokens } from "../../text/numberformat.ts";
import { laidOutJSON } from "../../text/parsedjson.ts";
import { Icon } from "../icon.tsx";

const none: NonNullable<Message["outputs"]> = [];
const most = 100; // values: more would make the page slow

/** What plugins told of an answer, as JSON. */
export function PluginOutputs({ node }: { node: ReadonlySignal<Message> }) {
  const outputs = useComputed(() => node.value.outputs ?? none);
  const { length } = outputs.value;
  if (length === 0) return null;
  return (
    <div class="calls">
      <details>
        <summary>
          <Icon name="right" />
          {tn(length, "A value of {plugins}", "{n} values of {plugins}", { plugins: names(outputs.value) })}
        </summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
        <pre tabIndex={0}>
          {splitControls(lines(outputs.value)).map(({ text, control }) =>
            control ? <span class="control" data-name={control} /> : text,
          )}
        </pre>
      </details>
    </div>
  );
}

function names(outputs: typeof none): string {
  return [...new Set(outputs.map(({ plugin }) => plugin))].join(", ");
}

function lines(outputs: typeof none): string {
  const shown = outputs
    .slice(0, most)
    .map(({ plugin, tokens: n, value }) => `${head(plugin, n)}\n${laidOutJSON(value)}`);
  if (outputs.length > most) shown.push(t("… and {n} more", { n: outputs.length - most }));
  return shown.join("\n\n");
}

function head(plugin: string, n: number): string {
  return n === 0 ? `${plugin}:` : t("{plugin}, after {tokens}:", { plugin, tokens: tokens(n) });
}
