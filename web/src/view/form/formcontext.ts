// SPDX-License-Identifier: MIT

// What the fields of one form share.
import { type ComponentType, createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Schema } from "../../plugins/schema.ts";
import type { SchemaProblem } from "../../plugins/schemacheck.ts";

/** What the fields of a form share. */
export interface FormParts {
  id: string; // begins the ids of its elements
  root: Schema; // what references lead into
  problems: readonly SchemaProblem[];
  /** Tells what is wrong with a text that cannot be read as a value yet; undefined once it can. */
  draft(path: string, message: string | undefined): void;
}

/** What each kind of field gets. */
export interface FieldProps {
  path: string;
  schema: Schema; // resolved
  name: string; // what a person reads; empty where something else names it
  label: string; // what a screen reader says, with what the field belongs to
  required: boolean;
  value: unknown; // undefined: not set
  change(value: unknown): void;
}

/** What a group and a list get: Field draws each of their parts. */
export interface CompoundProps extends FieldProps {
  Field: ComponentType<FieldProps>;
}

const Context = createContext<FormParts | undefined>(undefined);
export const FormProvider = Context.Provider;

export function useForm(): FormParts {
  const form = useContext(Context);
  if (form === undefined) throw new Error("a field stands outside of a form"); // untranslated: for programmers
  return form;
}
