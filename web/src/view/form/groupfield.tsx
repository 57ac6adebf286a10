// SPDX-License-Identifier: MIT

// The fields of an object.
import { t } from "../../language/language.ts";
import { fieldOf, fieldLabel as labelOf, resolve, startingValue } from "../../plugins/schema.ts";
import { pathTo } from "../../plugins/schemacheck.ts";
import { isRecord } from "../../text/parsedjson.ts";
import { Icon } from "../icon.tsx";
import { FieldHelp } from "./fieldhelp.tsx";
import { type CompoundProps, useForm } from "./formcontext.ts";

/**
 * An object: its fields one below the other. One within another that is not needed can be added
 * and removed.
 */
export function GroupField(props: CompoundProps) {
  const { path, name, label, schema, required, value, change } = props;
  const { id, root } = useForm();
  if (path === "" || name === "") return <Fields {...props} />;
  return (
    <fieldset aria-label={label}>
      <legend>{name}</legend>
      <FieldHelp id={`${id}-${path}`} schema={schema} problem={undefined} />
      {value === undefined ? (
        <button type="button" class="quiet" onClick={() => change(startingValue(schema, root))}>
          <Icon name="plus" />
          {t("Set {field}", { field: name })}
        </button>
      ) : (
        <>
          <Fields {...props} />
          {!required && (
            <button type="button" class="quiet" onClick={() => change(undefined)}>
              <Icon name="close" />
              {t("Remove {what}", { what: name })}
            </button>
          )}
        </>
      )}
    </fieldset>
  );
}

function Fields({ Field, path, label, schema, value, change }: CompoundProps) {
  const { root, problems } = useForm();
  const field = fieldOf(schema);
  if (field.kind !== "group") return null;
  const held = isRecord(value) ? value : {};
  const known = new Set(field.properties.map((property) => property.name));
  const unknown = problems.filter((p) =>
    Object.keys(held).some((n) => !known.has(n) && p.path === pathTo(path, n)),
  );
  return (
    <div class="group">
      {field.properties.length === 0 && <p class="hint">{t("There is nothing to set.")}</p>}
      {field.properties.map(({ name, schema: part, required }) => {
        const resolved = resolve(part, root);
        const shown = labelOf(name, resolved);
        return (
          <Field
            key={name}
            path={pathTo(path, name)}
            schema={resolved}
            name={shown}
            label={path === "" ? shown : `${label}: ${shown}`}
            required={required}
            value={held[name]}
            change={(changed) => change(without({ ...held, [name]: changed }))}
          />
        );
      })}
      {unknown.map((problem) => (
        <p key={problem.path} class="problem">
          {t("{path}: {problem} Remove it under “Edit as JSON”.", {
            path: problem.path,
            problem: problem.message,
          })}
        </p>
      ))}
    </div>
  );
}

/** Without the fields that are not set. */
function without(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}
