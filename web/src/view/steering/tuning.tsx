// SPDX-License-Identifier: MIT

// The sampling parameters of a running answer.
import { useComputed, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { t } from "../../language/language.ts";
import { numberNamed, parseNumber, valueWords } from "../../settings/parameters.ts";
import { rate } from "../../text/numberformat.ts";
import { useApp } from "../appcontext.ts";

const more = ["top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty"];

/** The sampling parameters of an answer. What is changed counts from the next token on. */
export function Tuning({ run }: { run: RunningAnswer }) {
  return (
    <div class="tuning">
      <Temperature run={run} />
      <details>
        <summary>{t("More of the sampling")}</summary>
        <div class="tuning-more">
          {more.map((name) => (
            <NumberField key={name} run={run} name={name} />
          ))}
        </div>
      </details>
    </div>
  );
}

/**
 * What a parameter of the answer is now: as it was set, else as its chat has it, else the host's
 * default.
 */
function useNow(run: RunningAnswer, name: string): number | undefined {
  const { chats, props } = useApp();
  return useComputed(() => {
    const set = run.message.value.answer?.set?.[name];
    const value = set ?? chats.of(run)?.settings.value.sampling[name] ?? props.value.defaults[name];
    return typeof value === "number" ? value : undefined;
  }).value;
}

function Temperature({ run }: { run: RunningAnswer }) {
  const id = useId();
  const parameter = numberNamed("temperature");
  const now = useNow(run, "temperature") ?? 0.8;
  const moving = useSignal<number | undefined>(undefined);
  const shown = moving.value ?? now;
  return (
    <div class="temperature">
      <label for={id}>{t("Temperature")}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={2}
        step={0.05}
        value={Math.min(2, shown)}
        aria-valuetext={valueWords(parameter, shown)}
        onInput={(event) => {
          moving.value = event.currentTarget.valueAsNumber;
        }}
        onChange={(event) => {
          moving.value = undefined;
          run.set({ temperature: event.currentTarget.valueAsNumber });
        }}
      />
      <output for={id}>{rate(shown)}</output>
    </div>
  );
}

function NumberField({ run, name }: { run: RunningAnswer; name: string }) {
  const id = useId();
  const parameter = numberNamed(name);
  const now = useNow(run, name);
  const draft = useSignal<string | undefined>(undefined);
  const problem = draft.value === undefined ? undefined : parseNumber(parameter, draft.value).problem;
  const commit = (text: string) => {
    const { value, problem: wrong } = parseNumber(parameter, text);
    if (wrong !== undefined) return;
    draft.value = undefined;
    if (value !== undefined && value !== now) run.set({ [name]: value });
  };
  return (
    <div class="tuning-field">
      <label for={id}>{parameter.label}</label>
      <input
        id={id}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        value={draft.value ?? now?.toString() ?? ""}
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
        onChange={(event) => commit(event.currentTarget.value)}
      />
      <small id={`${id}-problem`} class="wrong" role="alert">
        {problem}
      </small>
    </div>
  );
}
