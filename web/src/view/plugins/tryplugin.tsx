// SPDX-License-Identifier: MIT

// Answers one question with and without a plugin.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "../../app.ts";
import { type Message, unkept } from "../../chats/message.ts";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { advice, remedy } from "../../host/erroradvice.ts";
import { choiceOf, withoutPlugin, withPlugin } from "../../plugins/pluginchoice.ts";
import { hostChain } from "../../settings/chain.ts";
import type { Settings } from "../../settings/settings.ts";
import { useApp } from "../appcontext.ts";

const length = 120; // tokens of an answer

interface Props {
  name: string;
  config: Record<string, unknown>;
  ready: boolean;
}

/**
 * One question answered with and without a plugin, with the same seed, so that every difference is
 * the plugin's.
 */
export function TryIt({ name, config, ready }: Props) {
  const app = useApp();
  const question = useSignal("Tell me a story about a frog.");
  const runs = useSignal<readonly RunningAnswer[]>([]); // without it, and with it
  const stop = () => {
    for (const run of runs.peek()) app.answers.stop(run);
  };
  useEffect(() => stop, []);
  const start = () => {
    stop();
    const seed = Math.floor(Math.random() * 2 ** 31);
    const host = hostChain(app.props.peek().defaults, app.plugins.peek());
    const plain = withoutPlugin(app.chats.current.peek().settings.peek(), name, host);
    runs.value = [plain, withPlugin(plain, name, config, host)].map((settings) =>
      begin(app, settings, question.peek(), seed),
    );
  };
  const [a, b] = runs.value.map((run) => run.message.value);
  const running = a?.answer?.phase !== "done" || b?.answer?.phase !== "done";
  return (
    <section class="try" aria-label={`Try ${name}`}>
      <h3>Try it</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready && question.peek().trim() !== "") start();
        }}
      >
        <input
          type="text"
          aria-label="A question to try it with"
          value={question}
          onInput={(event) => {
            question.value = event.currentTarget.value;
          }}
        />
        {a !== undefined && running ? (
          <button type="button" class="quiet" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!ready}>
            Try
          </button>
        )}
      </form>
      {a !== undefined && b !== undefined && (
        <>
          <div class="columns">
            <Answer title={`Without ${name}`} message={a} other={b} />
            <Answer title={`With ${name}`} message={b} other={a} />
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

/** Has the host answer, into a message that no chat keeps. */
function begin(app: App, settings: Settings, content: string, seed: number): RunningAnswer {
  const sampling = { ...settings.sampling, seed, max_tokens: length };
  return app.answers.startUnkept(
    app.request({ ...settings, sampling, trace: false }, [unkept("user", content)]),
  );
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
  if (a.content === b.content) return "Both are the same: here the plugin had nothing to change.";
  return used ? "This chat uses it already." : "Do you like it? Switch it on with “Use in this chat”.";
}
