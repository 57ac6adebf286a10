// SPDX-License-Identifier: MIT

// The prompt as a template plugin writes it, beside the usual one.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { PluginRoutes } from "../../host/pluginroutes.ts";
import type { GenerateRequest } from "../../host/protocol.ts";
import { t, tn } from "../../language/language.ts";
import { type Prompt, runsOf } from "../../plugins/prompt.ts";
import { requestFor } from "../../settings/request.ts";
import { count, tokens as many } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";

const pause = 300; // milliseconds without a change before the host is asked
const mostShown = 4000; // tokens

const sample: GenerateRequest["messages"] = [
  { role: "system", content: t("You tell short stories.") },
  { role: "user", content: t("Tell me about a frog.") },
  { role: "assistant", content: t("A frog sat on a stone.") },
  { role: "user", content: t("And then?") },
];

interface Props {
  name: string;
  sha256: string; // of the module: another one may write another prompt
  config: Record<string, unknown>;
  ready: boolean;
}

type Answer = { prompt: Prompt } | { problem: string };

/**
 * What a template plugin makes of a conversation, beside what the model's own template makes of
 * it.
 */
export function PromptPreview({ name, sha256, config, ready }: Props) {
  const app = useApp();
  const routes = useMemo(() => new PluginRoutes(app.rest), [app]);
  const answers = useSignal<readonly [Answer, Answer] | undefined>(undefined);
  const chat = app.chats.current.value;
  const path = chat.tree.path.value;
  const settings = { ...chat.settings.value, ...app.modelOf(chat.settings.value) };
  const base = requestFor(settings, new Set(), chat.tree.upTo(path.at(-1) ?? null));
  const own = path.length > 0;
  const body = { ...base, messages: own ? upToQuestion(base.messages) : sample };
  const asked = JSON.stringify([body, name, sha256, config]);
  useEffect(() => {
    if (!ready) return;
    const control = new AbortController();
    const ask = (plugins: GenerateRequest["plugins"]) =>
      routes.prompt({ ...body, plugins }, control.signal).then(
        (prompt): Answer => ({ prompt }),
        (error): Answer => ({ problem: error instanceof Error ? error.message : String(error) }),
      );
    const timer = setTimeout(() => {
      void Promise.all([ask([{ name, config }]), ask([])]).then((both) => {
        if (!control.signal.aborted) answers.value = both;
      });
    }, pause);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [asked, ready]);
  return (
    <section class="preview" aria-label={t("Prompt preview")}>
      <h3>{t("The prompt")}</h3>
      <p class="hint">
        {own
          ? t("This chat, up to its last question, as the model would get it.")
          : t("An example conversation, as the model would get it.")}
      </p>
      {answers.value === undefined ? (
        <p role="status">{t("Loading…")}</p>
      ) : (
        <div class="columns" aria-live="polite">
          <Rendered title={name} answer={answers.value[0]} />
          <Rendered title={t("The model’s own template")} answer={answers.value[1]} />
        </div>
      )}
    </section>
  );
}

/** Without the answers behind the last question: a prompt ends where an answer begins. */
function upToQuestion(messages: GenerateRequest["messages"]): GenerateRequest["messages"] {
  return messages.slice(0, messages.findLastIndex(({ role }) => role === "user") + 1);
}

function Rendered({ title, answer }: { title: string; answer: Answer }) {
  if ("problem" in answer) {
    return (
      <figure>
        <figcaption>{title}</figcaption>
        <p class="problem" role="alert">
          {answer.problem}
        </p>
      </figure>
    );
  }
  const { tokens } = answer.prompt;
  const hidden = tokens.length - mostShown;
  return (
    <figure>
      <figcaption>
        {title} <span class="hint">{many(tokens.length)}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard */}
      <section class="prompt" tabIndex={0} aria-label={t("Prompt of {template}", { template: title })}>
        <pre>
          {runsOf(tokens.slice(0, mostShown)).map((run, at) =>
            run.special ? (
              <mark key={String(at)} class="special" title={t("One special token")}>
                {run.text}
              </mark>
            ) : (
              run.text
            ),
          )}
        </pre>
      </section>
      {hidden > 0 && (
        <p class="hint">
          {tn(hidden, "{n} more token is not shown.", "{n} more tokens are not shown.", { n: count(hidden) })}
        </p>
      )}
    </figure>
  );
}
