// SPDX-License-Identifier: MIT

// A field for any value, as JSON.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../language/language.ts";
import { isRecord, parsedJSON } from "../../text/parsedjson.ts";
import { FieldHelp, Needed } from "./fieldhelp.tsx";
import { type FieldProps, useForm } from "./formcontext.ts";

/** A value of any shape as JSON, checked while it is typed. Its last valid text counts. */
export function JsonField(props: FieldProps & { object?: boolean }) {
  const { path, schema, name, label, required, value, object = false, change } = props;
  const form = useForm();
  const typed = useSignal<string | undefined>(undefined); // while it differs from the value as we would write it
  const problem = useSignal("");
  const id = `${form.id}-${path}-json`;
  const complaint = problem.value || schemaProblems(form.problems, path);
  useEffect(() => () => form.draft(path, undefined), []);
  const read = (text: string) => {
    typed.value = text;
    const result = parse(text, object);
    problem.value = result.problem ?? "";
    form.draft(path, result.problem && `${label}: ${result.problem}`);
    if (result.problem === undefined) change(result.value);
  };
  return (
    <div class="field">
      {name !== "" && (
        <label for={id}>
          {name}
          {required && <Needed />}
        </label>
      )}
      <textarea
        id={id}
        class="json"
        aria-label={name === "" || label !== name ? label : undefined}
        aria-invalid={complaint !== ""}
        aria-describedby={`${id}-help ${id}-problem`}
        rows={object ? 8 : 3}
        spellcheck={false}
        placeholder="JSON" // untranslated: a name
        value={typed.value ?? (value === undefined ? "" : JSON.stringify(value, null, 2))}
        onInput={(event) => read(event.currentTarget.value)}
        onBlur={() => {
          if (problem.peek() === "") typed.value = undefined;
        }}
      />
      <FieldHelp
        id={id}
        schema={path === "" ? {} : schema}
        problem={
          complaint === "" || (value === undefined && typed.value === undefined) ? undefined : complaint
        }
      />
    </div>
  );
}

/**
 * Everything that is wrong within a value, as this field has no fields of its own to say it below.
 */
function schemaProblems(problems: readonly { path: string; message: string }[], path: string): string {
  return problems
    .filter(
      (p) => p.path === path || p.path.startsWith(`${path}.`) || p.path.startsWith(`${path}[`) || path === "",
    )
    .map((p) => (p.path === path ? p.message : `${p.path}: ${p.message}`))
    .join("\n");
}

function parse(text: string, object: boolean): ReturnType<typeof parsedJSON> {
  const { value = object ? {} : undefined, problem } = parsedJSON(text);
  if (problem !== undefined) return { problem };
  return object && !isRecord(value)
    ? { problem: t('It must be an object, such as {"name": 1}.') }
    : { value };
}
