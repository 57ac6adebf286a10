// SPDX-License-Identifier: MIT

// Rules of the chat: written in plain words, each becomes a script or a format of its answers.
import { t, tx } from "../../language/language.ts";
import "../../style/strategy.css";
import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import { checkScript } from "../../host/scriptroutes.ts";
import { examples, madeWords, parseRule, ruleOf } from "../../rules/parserule.ts";
import { gallery } from "../../scripts/galleryfiles.ts";
import { type Refusal, refusalOf } from "../../scripts/rehearsal.ts";
import { mostInSettings, type Rule } from "../../settings/settings.ts";
import { sentence } from "../../text/sentence.ts";
import { useApp } from "../appcontext.ts";
import { RefusedScript } from "../script/refusedscript.tsx";
import { UseSwitch } from "../useswitch.tsx";

const patience = 10_000; // milliseconds for the check of a script

/** The rules of the chat, and the field for another one. */
export default function RulesPanel() {
  const chat = useApp().chats.current.value;
  const { rules = [] } = chat.settings.value;
  return (
    <div class="settings rules">
      <h3>{t("What answers have to obey")}</h3>
      {rules.length > 0 && (
        <ul>
          {rules.map((rule, i) => (
            <RuleRow key={rule.text} chat={chat} rule={rule} at={i} />
          ))}
        </ul>
      )}
      {rules.length < mostInSettings.rules ? (
        <NewRule key={chat.id} chat={chat} />
      ) : (
        <p class="hint">
          {t("A chat has at most {n} rules. Remove one to add another.", { n: mostInSettings.rules })}
        </p>
      )}
      <p class="hint">
        {tx(
          "They hold from the next answer on: a word that would break one is taken back before you see it. Below the answer stands how often it {backed}, and where.",
          { backed: <strong>{t("backed up")}</strong> },
        )}
      </p>
    </div>
  );
}

/** Changes the rules of a chat. */
function change(chat: Chat, next: (rules: readonly Rule[]) => Rule[]): void {
  const { rules = [], ...settings } = chat.settings.peek();
  const changed = next(rules);
  chat.settings.value = changed.length > 0 ? { ...settings, rules: changed } : settings;
}

function RuleRow({ chat, rule, at }: { chat: Chat; rule: Rule; at: number }) {
  const { text, on, format, source } = rule;
  const foreign = source !== undefined && !gallery.some((script) => script.source === source);
  return (
    <li>
      <UseSwitch
        label={text}
        help={
          format === undefined
            ? t("a policy, at each word")
            : t("binds the whole answer: {kind}", { kind: format.kind })
        }
        on={on}
        turn={(now) => change(chat, (rules) => rules.map((one, i) => (i === at ? { ...one, on: now } : one)))}
      />
      <button
        type="button"
        class="link"
        aria-label={t("Remove the rule “{rule}”", { rule: text })}
        onClick={() => change(chat, (rules) => rules.filter((_, i) => i !== at))}
      >
        {t("Remove")}
      </button>
      {foreign && (
        <details>
          <summary>{t("Its script is not the one that this page would write")}</summary>
          <pre>{source}</pre>
        </details>
      )}
    </li>
  );
}

/** A field for a rule, what it would become, and rules to begin with. */
function NewRule({ chat }: { chat: Chat }) {
  const app = useApp();
  const id = useId();
  const text = useSignal("");
  const refusal = useSignal<Refusal | undefined>(undefined);
  const checking = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const panel = field.current?.closest('[role="dialog"]'); // has the focus once it is opened
    if (panel === document.activeElement && matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);
  const made = parseRule(text.value);
  const there = (chat.settings.value.rules ?? []).some((rule) => rule.text === text.value.trim());
  const add = async (event: Event) => {
    event.preventDefault();
    const now = parseRule(text.peek());
    if (now === undefined || there || checking.peek()) return;
    const rule = ruleOf(text.peek(), now, sourceOf);
    checking.value = true;
    refusal.value = await refused(app, chat, rule);
    checking.value = false;
    if (refusal.peek() !== undefined) return;
    change(chat, (rules) => [...rules, rule]);
    text.value = "";
  };
  return (
    <form class="new-rule" onSubmit={add}>
      <label for={id}>{t("A rule")}</label>
      <div class="rule-line">
        <input
          id={id}
          ref={field}
          type="text"
          autocomplete="off"
          placeholder={examples[0]}
          aria-describedby={`${id}-becomes`}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            refusal.value = undefined;
          }}
        />
        <button type="submit" class="primary" disabled={made === undefined || there || checking.value}>
          {t("Add")}
        </button>
      </div>
      <p id={`${id}-becomes`} class="hint" role="status">
        {becomes(text.value, made, there)}
      </p>
      {refusal.value !== undefined && <RefusedScript refusal={refusal.value} />}
      <div class="links">
        <span>{t("Examples:")}</span>
        {examples.map((example) => (
          <button
            key={example}
            type="button"
            class="link"
            onClick={() => {
              text.value = example;
              refusal.value = undefined;
            }}
          >
            {example}
          </button>
        ))}
      </div>
    </form>
  );
}

function becomes(text: string, made: ReturnType<typeof parseRule>, there: boolean): string {
  if (text.trim() === "") return t("Say it in a few words.");
  if (there) return t("This chat has that rule.");
  if (made !== undefined) return t("Becomes {what}.", { what: madeWords(made) });
  return t("Nothing is known that would see to this. Begin with one of the examples.");
}

function sourceOf(script: string): string {
  return gallery.find(({ name }) => name === script)?.source ?? "";
}

/** Why the server would not take the rule; undefined: it would. */
async function refused(app: App, chat: Chat, { source, config }: Rule): Promise<Refusal | undefined> {
  if (source === undefined) return undefined;
  const { model } = app.modelOf(chat.settings.peek());
  const script = { source, ...(config !== undefined && { config }), ...(model !== undefined && { model }) };
  try {
    const { error } = await checkScript(app.rest, script, AbortSignal.timeout(patience));
    return error && { said: sentence(error.message), help: "again" };
  } catch (error) {
    return refusalOf(error);
  }
}
