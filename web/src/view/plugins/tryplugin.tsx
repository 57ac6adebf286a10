// SPDX-License-Identifier: MIT

// Answers the chat's last question, or another in its place, with and without a plugin.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { type Message, unkept } from "../../chats/message.ts";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { advice, remedy } from "../../host/erroradvice.ts";
import { t } from "../../language/language.ts";
import { choiceOf, withoutPlugin, withPlugin } from "../../plugins/pluginchoice.ts";
import { hostChain } from "../../settings/chain.ts";
import { upToQuestion } from "../../settings/curl.ts";
import type { Settings } from "../../settings/settings.ts";
import { useApp } from "../appcontext.ts";

const length = 120; // tokens of an answer

interface Props {
  name: string;
  config: Record<string, unknown>;
  ready: boolean;
}

/**
 * The chat's last question, or another in its place, answered with and without a plugin, with the
 * same seed, so that every difference is the plugin's.
 */
export function TryIt({ name, config, ready }: Props) {
  const app = useApp();
  const { title, tree } = app.chats.current.value;
  const question = useSignal(conversation(app.chats.current.peek()).at(-1)?.content ?? "");
  const runs = useSignal<readonly RunningAnswer[]>([]); // without it, and with it
  const stop = () => {
    for (const run of runs.peek()) app.answers.stop(run);
  };
  useEffect(() => stop, []);
  const start = () => {
    stop();
    const seed = Math.floor(Math.random() * 2 ** 31);
    const host = hostChain(app.props.peek().defaults, app.plugins.peek());
    const chat = app.chats.current.peek();
    const plain = withoutPlugin(chat.settings.peek(), name, host);
    const messages = asking(conversation(chat), question.peek());
    runs.value = [plain, withPlugin(plain, name, config, host)].map((settings) =>
      begin(app, settings, messages, seed),
    );
  };
  const [a, b] = runs.value.map((run) => run.message.value);
  const running = a?.answer?.phase !== "done" || b?.answer?.phase !== "done";
  return (
    <section class="try" aria-label={t("Try {plugin}", { plugin: name })}>
      <h3>{t("Try it")}</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && question.peek().trim() !== "") start();
        }}
      >
        <input
          type="text"
          aria-label={t("A question to try it with")}
          value={question}
          onInput={(event) => {
            question.value = event.currentTarget.value;
          }}
        />
        {a !== undefined && running ? (
          <button type="button" class="quiet" onClick={stop}>
            {t("Stop")}
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!ready}>
            {t("Try")}
          </button>
        )}
      </form>
      {tree.path.value.length > 0 && (
        <p class="hint">
          {t("Asked in “{chat}”, in the place of its last question.", { chat: title.value })}
        </p>
      )}
      {a !== undefined && b !== undefined && (
        <>
          <div class="columns">
            <Answer title={t("Without {plugin}", { plugin: name })} message={a} other={b} />
            <Answer title={t("With {plugin}", { plugin: name })} message={b} other={a} />
          </div>
          <p class="hint" role="status">
            {running
              ? ""
              : verdict(a, b, choiceOf(app.chats.current.value.settings.value, name) !== undefined)}
          </p>
        </>
      )}
    </section>
  );
}

/** The chat up to its last question; of a chat without one, a question to try. */
function conversation({ tree }: Chat): Message[] {
  const path = tree.path.peek().map((id) => tree.node(id).peek());
  return path.length > 0 ? upToQuestion(path) : [unkept("user", t("Tell me a story about a frog."))];
}

/** A conversation that ends with another question, beside the same files. */
function asking(messages: Message[], content: string): Message[] {
  return messages.map((message, i) => (i < messages.length - 1 ? message : { ...message, content }));
}

/** Has the host answer, into a message that no chat keeps. */
function begin(app: App, settings: Settings, messages: Message[], seed: number): RunningAnswer {
  const sampling = { ...settings.sampling, seed, max_tokens: length };
  return app.answers.startUnkept(app.request({ ...settings, sampling, trace: false }, messages));
}

/** An answer; what differs from the other is marked. */
function Answer({ title, message, other }: { title: string; message: Message; other: Message }) {
  const same = sharedLength(message.content, other.content);
  const error = message.answer?.outcome?.error;
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <p class="tried">
        {message.content.slice(0, same)}
        {same < message.content.length && <mark>{message.content.slice(same)}</mark>}
        {message.content === "" && error === undefined && <span class="hint">…</span>}
      </p>
      {error !== undefined && (
        <p class="problem" role="alert">
          {advice(error).said} {remedy(error)}
        </p>
      )}
    </figure>
  );
}

/** How many characters two answers begin with alike, up to the beginning of a word. */
function sharedLength(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  if (at === Math.min(a.length, b.length)) return at;
  while (at > 0 && /\S/.test(a[at - 1] ?? "")) at--;
  return at;
}

function verdict(a: Message, b: Message, used: boolean): string {
  if (a.answer?.outcome?.error !== undefined || b.answer?.outcome?.error !== undefined) return "";
  if (a.content === b.content) return t("Both are the same: here the plugin had nothing to change.");
  return used ? t("This chat uses it already.") : t("Do you like it? Switch it on with “Use in this chat”.");
}
