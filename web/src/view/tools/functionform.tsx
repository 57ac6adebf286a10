// SPDX-License-Identifier: MIT

// The form in which a function is written: its name, description and parameters, or JSON.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { t } from "../../language/language.ts";
import { type FunctionTool, toolName } from "../../settings/settings.ts";
import {
  functionsIn,
  jsonOf,
  type Parameter,
  parametersOf,
  parameterTypes,
  schemaOf,
} from "../../tools/functiontools.ts";
import { onEscape } from "../escape.ts";
import { Icon } from "../icon.tsx";

interface Props {
  tool?: FunctionTool; // that is changed
  put(tools: readonly FunctionTool[]): void;
  close(): void;
}

const fresh: FunctionTool = { name: "", description: "", parameters: schemaOf([]) };

/** What is written of a function: the form's fields, or a text in JSON. */
function useWriting(tool: FunctionTool, put: Props["put"]) {
  const name = useSignal(tool.name);
  const description = useSignal(tool.description);
  const parameters = useSignal(parametersOf(tool.parameters) ?? []);
  const json = useSignal<string | undefined>(
    parametersOf(tool.parameters) === undefined ? jsonOf(tool) : undefined,
  );
  const problem = useSignal("");
  const written = (): FunctionTool => ({
    name: name.peek().trim(),
    description: description.peek().trim(),
    parameters: schemaOf(parameters.peek()),
  });
  const submit = () => {
    const text = json.peek();
    try {
      if (text === undefined && !toolName.test(written().name))
        throw new Error(t('The name must be 1 to 64 letters, digits, "_" and "-".'));
      put(text === undefined ? [written()] : functionsIn(text));
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
  };
  const swap = () => {
    problem.value = "";
    const text = json.peek();
    if (text === undefined) {
      json.value = jsonOf(written());
      return;
    }
    try {
      const [first = fresh, ...others] = functionsIn(text);
      const known = parametersOf(first.parameters);
      if (others.length > 0 || known === undefined) throw new Error(t("It has more than the form can show."));
      [name.value, description.value, parameters.value] = [first.name, first.description, known];
      json.value = undefined;
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
  };
  return { name, description, parameters, json, problem, submit, swap };
}

/** A function as a form, or as JSON where its schema says more than the form has. */
export function FunctionForm({ tool = fresh, put, close }: Props) {
  const id = useId();
  const { name, description, parameters, json, problem, submit, swap } = useWriting(tool, put);
  return (
    <form
      class="function-form"
      aria-label={tool === fresh ? t("New function") : t("Function {name}", { name: tool.name })}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={onEscape(close)}
    >
      {json.value === undefined ? (
        <>
          <TextField label={t("Name")} value={name} />
          <TextField label={t("What it does")} value={description} />
          <Parameters list={parameters} />
        </>
      ) : (
        <textarea
          class="code"
          rows={12}
          spellcheck={false}
          aria-label={t("The function as JSON")}
          aria-describedby={`${id}-problem`}
          value={json.value}
          onInput={(event) => {
            json.value = event.currentTarget.value;
          }}
        />
      )}
      <p id={`${id}-problem`} class="wrong" role="alert">
        {problem}
      </p>
      <div class="links">
        <button type="submit" class="small-primary">
          {t("Save")}
        </button>
        <button type="button" class="link" onClick={swap}>
          {json.value === undefined ? t("Edit as JSON") : t("Edit as a form")}
        </button>
        <button type="button" class="link" onClick={close}>
          {t("Cancel")}
        </button>
      </div>
    </form>
  );
}

function TextField({ label, value }: { label: string; value: { value: string } }) {
  return (
    <label>
      {label}
      <input
        type="text"
        autocomplete="off"
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </label>
  );
}

const none: Parameter = { name: "", type: "string", description: "", required: true };

function Parameters({ list }: { list: { value: Parameter[] } }) {
  const change = (at: number, change: Partial<Parameter>) => {
    list.value = list.value.map((parameter, n) => (n === at ? { ...parameter, ...change } : parameter));
  };
  return (
    <fieldset class="function-form">
      <legend>{t("Parameters")}</legend>
      {list.value.map((parameter, at) => (
        <div class="parameter" key={at}>
          <input
            type="text"
            autocomplete="off"
            spellcheck={false}
            placeholder={t("placeholder|name")}
            aria-label={t("Name of parameter {n}", { n: at + 1 })}
            value={parameter.name}
            onInput={(event) => change(at, { name: event.currentTarget.value.trim() })}
          />
          <select
            aria-label={t("Type of parameter {n}", { n: at + 1 })}
            value={parameter.type}
            onChange={(event) => {
              const type = parameterTypes.find((one) => one === event.currentTarget.value);
              if (type !== undefined) change(at, { type });
            }}
          >
            {parameterTypes.map((type) => (
              <option key={type} value={type}>
                {type}
              </option>
            ))}
          </select>
          <label class="check">
            <input
              type="checkbox"
              checked={parameter.required}
              onChange={(event) => change(at, { required: event.currentTarget.checked })}
            />
            {t("required")}
          </label>
          <button
            type="button"
            class="mini"
            aria-label={t("Remove parameter {n}", { n: at + 1 })}
            onClick={() => {
              list.value = list.value.filter((_, n) => n !== at);
            }}
          >
            <Icon name="close" />
          </button>
          <input
            type="text"
            class="said"
            autocomplete="off"
            placeholder={t("what it means")}
            aria-label={t("Meaning of parameter {n}", { n: at + 1 })}
            value={parameter.description}
            onInput={(event) => change(at, { description: event.currentTarget.value })}
          />
        </div>
      ))}
      <button
        type="button"
        class="link"
        onClick={() => {
          list.value = [...list.value, none];
        }}
      >
        {t("Add a parameter")}
      </button>
    </fieldset>
  );
}
