// SPDX-License-Identifier: MIT

// A form made from a JSON schema.
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import { fieldOf, resolve } from "../../plugins/schema.ts";
import { checkValue, problemsOf } from "../../plugins/schemacheck.ts";
import { isRecord } from "../../text/parsedjson.ts";
import { Field } from "./field.tsx";
import { type FormParts, FormProvider } from "./formcontext.ts";
import { JsonField } from "./jsonfield.tsx";

interface Props {
  schema: unknown; // a plugin's config_schema; undefined: any object
  value: Record<string, unknown>;
  /**
   * Gets each new value, and what is still wrong with it, as sentences; none: the host would take
   * it.
   */
  onChange(value: Record<string, unknown>, problems: string[]): void;
}

/**
 * A form that is made from a JSON schema, for an object of this shape. It can be edited as JSON
 * too.
 */
export function SchemaForm({ schema, value, onChange }: Props) {
  const id = useId();
  const asJson = useSignal(false);
  const drafts = useRef(new Map<string, string>());
  const latest = useRef({ value, onChange });
  latest.current = { value, onChange };
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false; // before its fields take their drafts back
    },
    [],
  );
  const root = isRecord(schema) ? schema : {};
  const resolved = resolve(root, root);
  const { kind } = fieldOf(resolved);
  const tell = (changed: unknown) => {
    if (!isRecord(changed) || !shown.current) return;
    latest.current.value = changed;
    latest.current.onChange(changed, [...problemsOf(root, changed), ...drafts.current.values()]);
  };
  const parts: FormParts = {
    id,
    root,
    problems: checkValue(root, value),
    draft: (path, message) => {
      if (drafts.current.get(path) === message) return;
      if (message === undefined) drafts.current.delete(path);
      else drafts.current.set(path, message);
      tell(latest.current.value);
    },
  };
  const field = { path: "", schema: resolved, name: "", label: t("Configuration"), required: true, value };
  const free = kind !== "group";
  return (
    <FormProvider value={parts}>
      <div class="schema-form">
        {free || asJson.value ? (
          <JsonField {...field} object change={tell} />
        ) : (
          <Field {...field} change={tell} />
        )}
        {!free && Object.keys(root.properties ?? {}).length > 0 && (
          <button
            type="button"
            class="link as-json"
            aria-pressed={asJson.value}
            onClick={() => {
              asJson.value = !asJson.peek();
            }}
          >
            {asJson.value ? t("Edit as a form") : t("Edit as JSON")}
          </button>
        )}
      </div>
    </FormProvider>
  );
}
