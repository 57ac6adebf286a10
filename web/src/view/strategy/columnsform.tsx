// SPDX-License-Identifier: MIT

// What each of the answers side by side is asked with.
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { needsConfig } from "../../settings/addstage.ts";
import { type Column, mostInSettings } from "../../settings/settings.ts";
import { useEdit } from "../settings/settingsedit.ts";

const fewest = 2;

/** The columns of a chat: what each of its answers is asked with. */
export function ColumnsForm() {
  const { chat } = useEdit();
  const { columns = [] } = chat.settings.value;
  const change = (next: Column[]) => {
    chat.settings.value = { ...chat.settings.peek(), columns: next };
  };
  return (
    <>
      {columns.map((column, i) => (
        <ColumnFields
          key={i}
          n={i + 1}
          column={column}
          change={(next) => change(columns.map((one, at) => (at === i ? next : one)))}
          remove={columns.length > fewest ? () => change(columns.filter((_, at) => at !== i)) : undefined}
        />
      ))}
      {columns.length < mostInSettings.columns && (
        <button type="button" class="link" onClick={() => change([...columns, {}])}>
          {t("Add an answer")}
        </button>
      )}
      <p class="hint">
        {t("What is left open is as this chat is set. The server computes them in the same passes.")}
      </p>
    </>
  );
}

interface FieldsProps {
  n: number;
  column: Column;
  change(column: Column): void;
  remove: (() => void) | undefined;
}

function ColumnFields({ n, column, change, remove }: FieldsProps) {
  const { app, chat, host } = useEdit();
  const id = useId();
  const models = app.models.value;
  const chosen = chat.settings.value.plugins;
  const usable = app.plugins.value.filter(
    ({ name }) => !needsConfig(name, chosen.find((choice) => choice.name === name)?.config ?? {}, host.value),
  );
  const { model, temperature, plugin } = column;
  const set = (part: Column) => change({ ...column, ...part });
  const clear = (name: keyof Column) => {
    const { [name]: _, ...rest } = column;
    change(rest);
  };
  return (
    <fieldset class="column-fields">
      <legend>{t("Answer {n}", { n })}</legend>
      {models.length > 1 && (
        <Choice
          id={`${id}-model`}
          label={t("Model")}
          value={model}
          values={models}
          choose={(name) => (name === "" ? clear("model") : set({ model: name }))}
        />
      )}
      <label for={`${id}-temperature`}>{t("Temperature")}</label>
      <input
        id={`${id}-temperature`}
        type="number"
        min={0}
        max={5}
        step={0.1}
        placeholder={t("as set")}
        value={temperature ?? ""}
        onChange={(event) => {
          const { valueAsNumber: value, validity } = event.currentTarget;
          if (Number.isNaN(value)) clear("temperature");
          else if (!validity.rangeUnderflow && !validity.rangeOverflow) set({ temperature: value });
        }}
      />
      {usable.length > 0 && (
        <Choice
          id={`${id}-plugin`}
          label={t("Plugin")}
          value={plugin}
          values={usable.map(({ name }) => name)}
          choose={(name) => (name === "" ? clear("plugin") : set({ plugin: name }))}
        />
      )}
      {remove !== undefined && (
        <button type="button" class="link" aria-label={t("Remove answer {n}", { n })} onClick={remove}>
          {t("Remove")}
        </button>
      )}
    </fieldset>
  );
}

interface ChoiceProps {
  id: string;
  label: string;
  value: string | undefined;
  values: readonly string[];
  choose(value: string): void;
}

function Choice({ id, label, value = "", values, choose }: ChoiceProps) {
  const gone = value !== "" && !values.includes(value);
  return (
    <>
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{t("as set")}</option>
        {[...values, ...(gone ? [value] : [])].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </>
  );
}
