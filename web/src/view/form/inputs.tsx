// SPDX-License-Identifier: MIT

// The inputs of a form: text, number, switch and choice.
import { useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import { number } from "../../plugins/schema.ts";
import { Needed } from "./fieldhelp.tsx";
import type { FieldProps } from "./formcontext.ts";

interface InputProps extends FieldProps {
  id: string;
  invalid: boolean;
  describedBy: string;
  leave(): void;
}

function attributes({ id, label, name, invalid, describedBy, leave }: InputProps) {
  return {
    id,
    "aria-label": name === "" || label !== name ? label : undefined,
    "aria-invalid": invalid,
    "aria-describedby": describedBy,
    onBlur: leave,
  };
}

/** What a field without a value shows: what the plugin takes then. */
function usual(schema: FieldProps["schema"]): string {
  const { default: value } = schema;
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function TextInput(props: InputProps & { long: boolean }) {
  const { schema, value, required, long, change } = props;
  const shared = {
    ...attributes(props),
    placeholder: usual(schema),
    spellcheck: false,
    value: typeof value === "string" ? value : "",
    onInput: (event: { currentTarget: { value: string } }) => {
      const text = event.currentTarget.value;
      change(text === "" && !required ? undefined : text);
    },
  };
  if (schema.writeOnly === true) return <input type="password" autocomplete="off" {...shared} />; // a secret
  return long ? <textarea rows={4} {...shared} /> : <input type="text" autocomplete="off" {...shared} />;
}

const longestSlide = 1000; // from one end to the other; a wider range is not for the hand

/**
 * A number as text, so that nothing that is typed gets lost. What is no number stays a text, which
 * the schema does not allow. A slider beside it is for the mouse only: the text field is for
 * everybody.
 */
export function NumberInput(props: InputProps & { whole: boolean }) {
  const { schema, value, whole, change } = props;
  const [low, high] = [number(schema.minimum), number(schema.maximum)];
  const slides = high > low && high - low <= longestSlide;
  const shown = typeof value === "number" ? value : number(schema.default);
  const typed = useSignal(""); // "0.50" is shown as it was typed, not as 0.5
  const text = typeof value === "number" || typeof value === "string" ? String(value) : "";
  return (
    <div class="number">
      <input
        {...attributes(props)}
        type="text"
        inputMode={whole ? "numeric" : "decimal"}
        autocomplete="off"
        placeholder={usual(schema)}
        value={readNumber(typed.value) === value ? typed.value : text}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          change(readNumber(typed.value));
        }}
      />
      {slides && (
        <input
          type="range"
          aria-hidden="true"
          tabIndex={-1}
          min={low}
          max={high}
          step={whole ? 1 : (high - low) / 100}
          value={Number.isNaN(shown) ? low : shown}
          onInput={(event) => change(Number(event.currentTarget.valueAsNumber.toPrecision(6)))}
        />
      )}
    </div>
  );
}

/** Nothing, a number, or what is typed that is no number yet. Many write a comma for the point. */
function readNumber(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const plain = trimmed.replace(",", ".");
  return /^[-+.\de]+$/i.test(plain) && Number.isFinite(Number(plain)) ? Number(plain) : trimmed;
}

export function SwitchInput(props: InputProps) {
  const { schema, value, name, required, change } = props;
  const on = typeof value === "boolean" ? value : schema.default === true;
  return (
    <label class="check">
      <input
        {...attributes(props)}
        type="checkbox"
        role="switch"
        class="switch"
        aria-checked={on}
        checked={on}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <span>
        {name === "" ? t("Yes") : name}
        {required && value === undefined && <Needed />}
      </span>
    </label>
  );
}

export function ChoiceInput(props: InputProps & { values: readonly unknown[] }) {
  const { schema, value, values, required, change } = props;
  const chosen = values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
  const none = schema.default === undefined ? "—" : t("{value} (default)", { value: usual(schema) });
  return (
    <select
      {...attributes(props)}
      value={String(chosen)}
      onChange={(event) => change(values[Number(event.currentTarget.value)])}
    >
      {(!required || chosen < 0) && <option value="-1">{none}</option>}
      {values.map((one, at) => (
        <option key={String(at)} value={String(at)}>
          {typeof one === "string" ? one : JSON.stringify(one)}
        </option>
      ))}
    </select>
  );
}
