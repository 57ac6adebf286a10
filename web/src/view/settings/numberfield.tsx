// SPDX-License-Identifier: MIT

// The fields and sliders of parameters that are numbers.
import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import {
  inRange,
  type NumberParameter,
  numberNamed,
  parameterNamed,
  parseNumber,
  rangeWords,
  valueWords,
} from "../../settings/parameters.ts";
import { Icon } from "../icon.tsx";
import { useEdit, useParameter } from "./settingsedit.ts";

/**
 * What a text field shows, what is wrong with it, and what typing does. A wrong value is marked
 * and not used.
 */
function useTyped(parameter: NumberParameter, value: number | undefined) {
  const edit = useEdit();
  const draft = useSignal<string | undefined>(undefined);
  const parsed = draft.value === undefined ? undefined : parseNumber(parameter, draft.value);
  const typing = parsed !== undefined && parsed.value === value; // else it was changed elsewhere meanwhile
  const replaced = edit.replaced.value;
  useEffect(() => {
    if (!typing) draft.value = undefined;
  }, [typing]);
  useEffect(() => {
    draft.value = undefined;
  }, [replaced]);
  const stored = value === undefined || inRange(parameter, value) ? undefined : rangeWords(parameter);
  return {
    text: typing && draft.value !== undefined ? draft.value : (value?.toString() ?? ""),
    problem: typing ? parsed.problem : stored,
    type: (text: string) => {
      draft.value = text;
      edit.set(parameter.name, parseNumber(parameter, text).value);
    },
    leave: () => {
      if (typing && parsed.problem === undefined) draft.value = undefined;
    },
  };
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** A number as many steps away as the arrow keys say, within the range. */
function stepped({ low, high, step }: NumberParameter, from: number, by: number): number {
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  return Math.min(high, Math.max(low, Number((from + by * step).toFixed(digits))));
}

interface InputProps {
  name: string;
  id: string;
  label?: string; // where no label element stands beside it
}

/**
 * The text field of a number, with the host's default in it where nothing is set. Arrow keys move
 * it.
 */
export function NumberInput({ name, id, label }: InputProps) {
  const parameter = numberNamed(name);
  const edit = useEdit();
  const known = useParameter(name);
  const [value, usual] = [asNumber(known.value), asNumber(known.usual)];
  const { text, problem, type, leave } = useTyped(parameter, value);
  const step = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined || event.altKey) return;
    event.preventDefault();
    edit.set(name, stepped(parameter, value ?? usual ?? parameter.low, by));
  };
  return (
    <>
      <input
        id={id}
        class="number-input"
        type="text"
        inputMode="decimal"
        autocomplete="off"
        aria-label={label}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem ${id}-help`}
        placeholder={placeholder(parameter, usual)}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={leave}
        onKeyDown={step}
      />
      <span id={`${id}-problem`} class="wrong" role="alert">
        {problem !== undefined &&
          `${problem} ${value === undefined ? t("Until then it is not sent.") : t("The server will refuse it.")}`}
      </span>
    </>
  );
}

function placeholder(parameter: NumberParameter, usual: number | undefined): string {
  const isLimit = parameter.name === "max_tokens" || parameter.name === "seed"; // the host's number for "none"
  if (usual === undefined || isLimit)
    return { max_tokens: t("no limit"), seed: t("random") }[parameter.name] ?? t("default");
  return valueWords(parameter, usual);
}

/** A slider is for the pointer: the text field beside it is for everybody. */
export function Slider({ name }: { name: string }) {
  const parameter = numberNamed(name);
  const edit = useEdit();
  const known = useParameter(name);
  if (parameter.slider === undefined) return null;
  const [low, high] = parameter.slider;
  const now = asNumber(known.value) ?? asNumber(known.usual) ?? low;
  return (
    <input
      type="range"
      tabIndex={-1}
      aria-hidden="true"
      min={low}
      max={high}
      step={parameter.kind === "integer" ? 1 : 0.01}
      value={Math.min(high, Math.max(low, now))}
      data-set={known.value !== undefined}
      onInput={(event) => edit.set(name, event.currentTarget.valueAsNumber)}
    />
  );
}

/** What a parameter does, and what its special values mean. */
export function helpOf({ help, words = {} }: NumberParameter): string {
  const special = Object.entries(words).map(([value, meaning]) =>
    t("{value} is {meaning}.", { value, meaning }),
  );
  return [help, ...special].join(" ");
}

/** A number with its label, help, slider, and the way back to the host's default. */
export function NumberField({ name }: { name: string }) {
  const parameter = numberNamed(name);
  const id = useId();
  const { value } = useParameter(name);
  return (
    <div class="setting" data-set={value !== undefined}>
      <label for={id}>
        {parameter.label}
        {parameter.unit !== undefined && <span class="unit"> {parameter.unit}</span>}
      </label>
      <Slider name={name} />
      <ResetButton name={name} />
      <NumberInput name={name} id={id} />
      <small id={`${id}-help`}>{helpOf(parameter)}</small>
    </div>
  );
}

/** Leaves a parameter to the host. */
export function ResetButton({ name }: { name: string }) {
  const edit = useEdit();
  const { value } = useParameter(name);
  if (value === undefined) return null;
  return (
    <button
      type="button"
      class="mini"
      aria-label={t("Reset “{parameter}”", { parameter: parameterNamed(name)?.label ?? name })}
      title={t("Back to the server's default")}
      onClick={() => edit.set(name, undefined)}
    >
      <Icon name="reset" />
    </button>
  );
}
