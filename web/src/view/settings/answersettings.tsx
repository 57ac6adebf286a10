// SPDX-License-Identifier: MIT

// The parts of the settings about the answer: length, format, reasoning and others.
import { useComputed, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t, tn } from "../../language/language.ts";
import { answerFormats, formatExamples, problemOf } from "../../settings/answerformat.ts";
import { type Format, mostInSettings } from "../../settings/settings.ts";
import { isRecord, parsedJSON } from "../../text/parsedjson.ts";
import { Chips } from "./chips.tsx";
import { FoldingPart } from "./foldingpart.tsx";
import { ParameterField } from "./parameterfield.tsx";
import { useEdit, useSetting } from "./settingsedit.ts";

/** How long an answer may be. */
export function LimitField() {
  return <ParameterField name="max_tokens" />;
}

/** Where an answer ends. */
export function LengthPart() {
  const edit = useEdit();
  const stop = useSetting((settings) => settings.stop);
  const now = useSetting(({ stop }) =>
    stop.length > 0 ? tn(stop.length, "{n} stop string", "{n} stop strings") : "",
  );
  return (
    <FoldingPart title={t("End of the answer")} now={now}>
      <Chips
        label={t("Stop strings")}
        help={t("The answer ends before the first of them. Enter adds one; \\n is a line break.")}
        placeholder={t("stop strings|none")}
        texts={stop}
        most={mostInSettings.stops}
        change={(texts) => edit.change((settings) => ({ ...settings, stop: texts }))}
      />
      <ParameterField name="ignore_eos" />
    </FoldingPart>
  );
}

/** What the answer must look like. */
export function FormatPart() {
  const edit = useEdit();
  const name = useId();
  const format = useSetting((settings) => settings.format);
  const kept = useSignal<Partial<Record<Format["kind"], string>>>({}); // what was written for the other kinds
  const shown = answerFormats.find(({ kind }) => kind === format.kind);
  const change = (next: Format) => edit.change((settings) => ({ ...settings, format: next }));
  const choose = (kind: Format["kind"]) => {
    if ("text" in format) kept.value = { ...kept.peek(), [format.kind]: format.text };
    change(kind === "text" || kind === "json" ? { kind } : { kind, text: kept.peek()[kind] ?? "" });
  };
  return (
    <FoldingPart title={t("Format")} now={shown?.label ?? ""}>
      <fieldset class="pills">
        <legend class="hidden">{t("What the answer is bound to")}</legend>
        {answerFormats.map(({ kind, label }) => (
          <label key={kind} class="pill">
            <input type="radio" name={name} checked={format.kind === kind} onChange={() => choose(kind)} />
            {label}
          </label>
        ))}
      </fieldset>
      <p class="hint">{shown?.help}</p>
      {"text" in format && <Written format={format} change={change} />}
    </FoldingPart>
  );
}

interface WrittenProps {
  format: Extract<Format, { text: string }>;
  change(format: Format): void;
}

function Written({ format, change }: WrittenProps) {
  const id = useId();
  const problem = problemOf(format);
  const label = answerFormats.find(({ kind }) => kind === format.kind)?.label;
  return (
    <div class="setting stacked">
      <label for={id} class="hidden">
        {label}
      </label>
      <textarea
        id={id}
        class="code"
        rows={format.kind === "regex" ? 2 : 7}
        spellcheck={false}
        aria-invalid={problem !== "" && format.text.trim() !== ""}
        aria-describedby={`${id}-problem`}
        value={format.text}
        onInput={(event) => change({ ...format, text: event.currentTarget.value })}
      />
      <p id={`${id}-problem`} class={format.text.trim() === "" ? "hint" : "wrong"} role="status">
        {problem}
      </p>
      <div class="links">
        <span>{t("Examples:")}</span>
        {formatExamples[format.kind].map(({ name, text }) => (
          <button key={name} type="button" class="link" onClick={() => change({ ...format, text })}>
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}

/** How long and how the model reasons before it answers. */
export function ReasoningPart() {
  const { app, chat } = useEdit();
  const knows = useComputed(() => app.props.value.template.supports_reasoning_effort !== false).value;
  const now = useComputed(() => {
    const { reasoning_effort: effort, reasoning_budget_tokens: budget } = chat.settings.value.sampling;
    return [effort, budget === undefined ? undefined : tn(Number(budget), "{n} token", "{n} tokens")]
      .filter((part) => part !== undefined)
      .join(", ");
  });
  return (
    <FoldingPart title={t("Reasoning")} now={now.value} begin="closed">
      {!knows && <p class="hint">{t("The template of this model knows no levels of reasoning.")}</p>}
      <ParameterField name="reasoning_effort" />
      <ParameterField name="reasoning_budget_tokens" />
      <ParameterField name="reasoning_budget_message" />
      <TemplateArgs />
    </FoldingPart>
  );
}

/** What the chat template is told besides, as JSON. */
function TemplateArgs() {
  const edit = useEdit();
  const id = useId();
  const args = useSetting((settings) => settings.templateArgs);
  const draft = useSignal<string | undefined>(undefined);
  const parsed = draft.value === undefined ? undefined : object(draft.value);
  const wrong = draft.value !== undefined && draft.value.trim() !== "" && parsed === undefined;
  const type = (text: string) => {
    draft.value = text;
    const next = object(text);
    edit.change(({ templateArgs: _, ...settings }) =>
      next === undefined || Object.keys(next).length === 0 ? settings : { ...settings, templateArgs: next },
    );
  };
  return (
    <div class="setting stacked" data-set={args !== undefined}>
      <label for={id}>{t("For the chat template")}</label>
      <textarea
        id={id}
        class="code"
        rows={2}
        spellcheck={false}
        // untranslated: JSON
        placeholder={'{"enable_thinking": false}'}
        aria-invalid={wrong}
        aria-describedby={`${id}-help`}
        value={draft.value ?? (args === undefined ? "" : JSON.stringify(args))}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={() => {
          if (!wrong) draft.value = undefined;
        }}
      />
      <small id={`${id}-help`} class={wrong ? "wrong" : ""}>
        {wrong
          ? t("It must be a JSON object. Until then it is not sent.")
          : t("Values that the template reads, as JSON. Many know enable_thinking.")}
      </small>
    </div>
  );
}

function object(text: string): Record<string, unknown> | undefined {
  const { value } = parsedJSON(text);
  return isRecord(value) ? value : undefined;
}

/** What seldom matters. */
export function OtherPart() {
  return (
    <FoldingPart title={t("Time and priority")} begin="closed">
      <ParameterField name="timeout_ms" />
      <ParameterField name="priority" />
      <ParameterField name="cache_prompt" />
    </FoldingPart>
  );
}
