// SPDX-License-Identifier: MIT

// The script of the chat that is shown: its editor, and what it does to the last answer.
import "../../style/script.css";
import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { type Message, unkept } from "../../chats/message.ts";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import type { GenerateRequest } from "../../host/protocol.ts";
import { checkScript } from "../../host/scriptroutes.ts";
import { t } from "../../language/language.ts";
import type { GalleryScript } from "../../scripts/gallery.ts";
import { errorOfRun, Rehearsal } from "../../scripts/rehearsal.ts";
import { upToQuestion } from "../../settings/curl.ts";
import type { Script, Settings } from "../../settings/settings.ts";
import { tracedAgain } from "../../trace/variations.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { UseSwitch } from "../useswitch.tsx";
import { CopyRequest } from "./copyrequest.tsx";
import { Editor } from "./editor.tsx";
import { Gallery } from "./gallerylist.tsx";
import { KeepScript } from "./keepscript.tsx";
import { RefusedScript } from "./refusedscript.tsx";
import { RunView } from "./runview.tsx";
import { SavePart } from "./savepart.tsx";
import { replaceText } from "./typing.ts";

const longest = 300; // tokens of an answer that is computed anew
const fixedSeed = 1; // where the last answer has none
const noScript: Script = { source: "", config: "", on: false };

/** The script of the chat that is shown. */
export default function ScriptView() {
  const chat = useApp().chats.current.value;
  return <Workshop key={chat.id} chat={chat} />;
}

function Workshop({ chat }: { chat: Chat }) {
  const app = useApp();
  const editor = useRef<HTMLTextAreaElement>(null);
  const configField = useRef<HTMLTextAreaElement>(null);
  const question = useSignal("Tell me a story about a frog."); // untranslated: it goes to the model, in a chat without one
  const rehearsal = useRehearsal(app, chat, question);
  const script = chat.settings.value.script ?? noScript;
  const error = rehearsal.error.value ?? errorOfRun(rehearsal.run.value);
  const change = (part: Partial<Script>) => {
    const settings = chat.settings.peek();
    const { imported: _, ...own } = settings.script ?? noScript;
    chat.settings.value = { ...settings, script: { ...own, ...part } };
  };
  const choose = (chosen: GalleryScript) => {
    if (configField.current !== null) replaceText(configField.current, chosen.config);
    if (editor.current !== null) replaceText(editor.current, chosen.source);
    editor.current?.setSelectionRange(0, 0);
  };
  const refusal = rehearsal.refusal.value;
  const wrong = error !== undefined || rehearsal.configError.value !== "";
  return (
    <div class="script">
      <p class="hint">
        {t(
          "A few lines of JavaScript steer how this chat is answered, token by token. As soon as you pause, the answer is computed anew.",
        )}
        {app.keeper.key === "" && <Declarations app={app} />}
      </p>
      {refusal !== undefined && <RefusedScript refusal={refusal} />}
      {script.imported && <ImportedScript run={() => change({})} />}
      <Gallery choose={choose} />
      <Editor field={editor} value={script.source} error={error} change={(source) => change({ source })} />
      <ConfigField
        field={configField}
        value={script.config}
        problem={rehearsal.configError.value}
        change={(config) => change({ config })}
      />
      <Use script={script} change={change} />
      <Question chat={chat} question={question} />
      <RunView rehearsal={rehearsal} />
      {!wrong && refusal === undefined && !script.imported && <Inspect app={app} chat={chat} />}
      <CopyRequest app={app} request={() => app.request(withScript(chat), asked(chat, question.peek()))} />
      {!script.imported && <KeepScript script={script} change={change} />}
      <SavePart source={script.source} />
    </div>
  );
}

/** Asks before a script runs that somebody else may have written. */
function ImportedScript({ run }: { run(): void }) {
  return (
    <p class="imported">
      {t("This script came in an imported file or a link and has not run here. Read it first.")}
      <button type="button" class="quiet" onClick={run}>
        {t("Run it")}
      </button>
    </p>
  );
}

/** What a script can call. The host shows it to who has a key, which a link cannot carry. */
function Declarations({ app }: { app: App }) {
  return (
    <>
      {" "}
      <a href={app.rest.address("v1/scripts/penstock.d.ts").href} target="_blank" rel="noreferrer">
        {t("What a script sees")}
      </a>
    </>
  );
}

/** Rehearses whatever changes what the answer would be, while the panel is open. */
function useRehearsal(app: App, chat: Chat, question: { value: string }): Rehearsal<RunningAnswer> {
  const rehearsal = useMemo(
    () =>
      new Rehearsal<RunningAnswer>({
        check: (script, signal) => checkScript(app.rest, script, signal),
        start: (request) => app.answers.startUnkept(request),
        stop: (run) => app.answers.stop(run),
      }),
    [app],
  );
  useSignalEffect(() => {
    if (app.connection.status.value.kind !== "online" || chat.run !== undefined) return;
    const { source, config, imported } = chat.settings.value.script ?? noScript;
    if (imported) return;
    rehearsal.change({ source, config, request: rehearsed(app, chat, question.value) });
  });
  useEffect(() => () => rehearsal.stop(), [rehearsal]);
  return rehearsal;
}

/** The settings with the script switched on. */
function withScript({ settings }: Chat): Settings {
  const { script = noScript, ...others } = settings.value;
  return { ...others, script: { ...script, on: true } };
}

/** The same with what makes each run of it the same: the seed of the last answer. */
function repeatable(chat: Chat): Settings {
  const settings = withScript(chat);
  const seed = chat.tree.leaf?.answer?.seed ?? settings.sampling.seed ?? fixedSeed;
  return tracedAgain(settings, Number(seed));
}

/** The question of the chat, or the one to try a script with. */
function asked(chat: Chat, question: string): Message[] {
  const path = chat.tree.path.value.map((id) => chat.tree.node(id).peek());
  return path.length > 0 ? upToQuestion(path) : [unkept("user", question)];
}

/** The request for the answer that is computed anew. */
function rehearsed(app: App, chat: Chat, question: string): GenerateRequest {
  const settings = repeatable(chat);
  const wanted = Number(settings.sampling.max_tokens);
  const most = wanted > 0 && wanted < longest ? wanted : longest;
  const sampling = { ...settings.sampling, max_tokens: most };
  return app.request({ ...settings, sampling }, asked(chat, question));
}

/** A configuration, which the script finds as config. */
function ConfigField({
  field,
  value,
  problem,
  change,
}: {
  field: RefObject<HTMLTextAreaElement | null>;
  value: string;
  problem: string;
  change(value: string): void;
}) {
  return (
    <div>
      <label for="script-config">{t("Configuration")}</label>
      <textarea
        id="script-config"
        class="json"
        ref={field}
        rows={2}
        spellcheck={false}
        placeholder={t("JSON; the script reads it as “config”")}
        aria-invalid={problem !== ""}
        aria-describedby="script-config-problem"
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <p class="wrong" id="script-config-problem" role="alert">
        {problem}
      </p>
    </div>
  );
}

/** Switches the script on for the answers of the chat. */
function Use({ script, change }: { script: Script; change(part: Partial<Script>): void }) {
  return (
    <UseSwitch
      label={t("Use in this chat")}
      help={t("Its next answers are written with the script, together with the chat's plugins.")}
      on={script.on}
      turn={(on) => change({ on })}
    />
  );
}

/** What the script is tried with: the last question, or in an empty chat one of one's own. */
function Question({ chat, question }: { chat: Chat; question: Signal<string> }) {
  const last = asked(chat, question.value).at(-1);
  if (chat.tree.path.value.length > 0)
    return (
      <p class="asked-of" dir="auto">
        <span class="hint">{t("Asked:")} </span>
        {last?.content}
      </p>
    );
  return (
    <label class="asked-of">
      {t("A question to try it with")}
      <input
        type="text"
        value={question.value}
        onInput={(event) => {
          question.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

/** Puts the answer into the chat, beside the last one, with how each token was chosen. */
function Inspect({ app, chat }: { app: App; chat: Chat }) {
  const leaf = chat.tree.path.value.at(-1);
  if (leaf === undefined) return null;
  const busy = app.connection.status.value.kind !== "online" || chat.run !== undefined;
  return (
    <button
      type="button"
      class="quiet"
      aria-disabled={busy}
      onClick={() => {
        if (busy) return;
        const { id } = chat.answerAgain(leaf, repeatable(chat));
        app.drawer.value = { kind: "inspector", message: id, token: 0 };
      }}
    >
      <Icon name="inspect" />
      {t("Write it into the chat and inspect it")}
    </button>
  );
}
