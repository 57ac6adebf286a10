// SPDX-License-Identifier: MIT

// The field of any parameter: number, switch, text or texts.
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { parameterNamed } from "../../settings/parameters.ts";
import { Chips } from "./chips.tsx";
import { NumberField, ResetButton } from "./numberfield.tsx";
import { useEdit, useParameter } from "./settingsedit.ts";

/** Any parameter, as its kind wants it. */
export function ParameterField({ name }: { name: string }) {
  switch (parameterNamed(name)?.kind) {
    case "switch":
      return <SwitchField name={name} />;
    case "text":
      return <TextField name={name} />;
    case "texts":
      return <TextsField name={name} />;
    default:
      return <NumberField name={name} />;
  }
}

function SwitchField({ name }: { name: string }) {
  const edit = useEdit();
  const parameter = parameterNamed(name);
  const { value, usual } = useParameter(name);
  const byDefault = usual === true || (usual === undefined && name === "cache_prompt");
  return (
    <Switch
      label={parameter?.label ?? name}
      help={parameter?.help ?? ""}
      on={(value ?? byDefault) === true}
      change={(on) => edit.set(name, on === byDefault ? undefined : on)}
    />
  );
}

interface SwitchProps {
  label: string;
  help: string;
  on: boolean;
  change(on: boolean): void;
}

/** Something that is on or off, with its help. */
export function Switch({ label, help, on, change }: SwitchProps) {
  const id = useId();
  return (
    <div class="setting" data-set={on}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="checkbox"
        role="switch"
        class="switch"
        checked={on}
        aria-checked={on}
        aria-describedby={`${id}-help`}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <small id={`${id}-help`}>{help}</small>
    </div>
  );
}

const levels = ["none", "minimal", "low", "medium", "high"];

function TextField({ name }: { name: string }) {
  const edit = useEdit();
  const id = useId();
  const parameter = parameterNamed(name);
  const { value } = useParameter(name);
  return (
    <div class="setting" data-set={value !== undefined}>
      <label for={id}>{parameter?.label}</label>
      <ResetButton name={name} />
      <input
        id={id}
        type="text"
        autocomplete="off"
        class="wide"
        placeholder={t("default")}
        list={name === "reasoning_effort" ? `${id}-levels` : undefined}
        aria-describedby={`${id}-help`}
        value={typeof value === "string" ? value : ""}
        onInput={(event) => edit.set(name, event.currentTarget.value || undefined)}
      />
      {name === "reasoning_effort" && (
        <datalist id={`${id}-levels`}>
          {levels.map((level) => (
            <option key={level} value={level} />
          ))}
        </datalist>
      )}
      <small id={`${id}-help`}>{parameter?.help}</small>
    </div>
  );
}

const mostBreakers = 64;

function TextsField({ name }: { name: string }) {
  const edit = useEdit();
  const parameter = parameterNamed(name);
  const { value } = useParameter(name);
  const texts = Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
  return (
    <Chips
      label={parameter?.label ?? name}
      help={`${parameter?.help} ${t("Enter adds one; \\n is a line break.")}`}
      placeholder={t("the server's own")}
      texts={texts}
      most={mostBreakers}
      change={(list) => edit.set(name, list.length === 0 ? undefined : list)}
    />
  );
}
