// SPDX-License-Identifier: MIT

// One field of a form, by the kind that its schema asks for.
import { useSignal } from "@preact/signals";
import { fieldOf } from "../../plugins/schema.ts";
import { FieldHelp, Needed } from "./fieldhelp.tsx";
import { type FieldProps, useForm } from "./formcontext.ts";
import { GroupField } from "./groupfield.tsx";
import { ChoiceInput, NumberInput, SwitchInput, TextInput } from "./inputs.tsx";
import { JsonField } from "./jsonfield.tsx";
import { ListField } from "./listfield.tsx";

const deepest = 6; // levels of groups and lists in one another; what lies deeper is JSON

/** One field of a form, with its name, what it is for, and what is wrong with it. */
export function Field(props: FieldProps) {
  const { kind } = fieldOf(props.schema);
  if ((kind === "group" || kind === "list") && props.path.split(/[.[]/).length > deepest)
    return <JsonField {...props} />;
  switch (kind) {
    case "group":
      return <GroupField {...props} Field={Field} />;
    case "list":
      return <ListField {...props} Field={Field} />;
    case "json":
      return <JsonField {...props} />;
    default:
      return <Simple {...props} />;
  }
}

/** A field of a single value. */
function Simple(props: FieldProps) {
  const { path, schema, name, required, value } = props;
  const form = useForm();
  const left = useSignal(false);
  const id = `${form.id}-${path}`;
  const problem = form.problems.find((p) => p.path === path)?.message;
  const shown = problem !== undefined && (left.value || (value !== undefined && value !== ""));
  const input = {
    ...props,
    id,
    invalid: shown,
    describedBy: `${id}-help${shown ? ` ${id}-problem` : ""}`,
    leave: () => {
      left.value = true;
    },
  };
  const field = fieldOf(schema);
  // What an entry of a list is told is the same for all of them, so the list says it.
  const help = { id, schema: name === "" ? {} : schema, problem: shown ? problem : undefined };
  if (field.kind === "switch") {
    return (
      <div class="field">
        <SwitchInput {...input} />
        <FieldHelp {...help} />
      </div>
    );
  }
  return (
    <div class="field">
      {name !== "" && (
        <label for={id}>
          {name}
          {required && <Needed />}
        </label>
      )}
      {field.kind === "choice" && <ChoiceInput {...input} values={field.values} />}
      {field.kind === "number" && <NumberInput {...input} whole={field.whole} />}
      {field.kind === "text" && <TextInput {...input} long={field.long} />}
      <FieldHelp {...help} />
    </div>
  );
}
