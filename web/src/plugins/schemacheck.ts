// SPDX-License-Identifier: MIT

// Checks a value against a JSON schema.
import { t, tn } from "../language/language.ts";
import { isRecord } from "../text/parsedjson.ts";
import { number, resolve, type Schema } from "./schema.ts";
import { patternProblem } from "./schemapattern.ts";

/** What is wrong with a part of a value. */
export interface SchemaProblem {
  path: string; // as in "phrases[0].text"; empty: the value itself
  message: string; // a sentence
  lacks?: true; // nothing is there, and something must be
}

const deepest = 64; // levels, as the host takes them
const mostSteps = 50_000; // a schema that refers to itself in many places would take for ever

/**
 * Checks a value against a schema with the usual keywords. The host has the last word: what this
 * does not know, it lets pass.
 */
export function checkValue(schema: unknown, value: unknown): SchemaProblem[] {
  if (!isRecord(schema)) return [];
  return new Checker(schema).part(schema, value, "", 0);
}

/** The same as sentences, each with the name of its field. */
export function problemsOf(schema: unknown, value: unknown): string[] {
  return checkValue(schema, value).map(({ path, message, lacks }) =>
    lacks ? message : path === "" ? message : `${path}: ${message}`,
  );
}

/** Asks for a field that is required and absent. */
function asks(schema: unknown, name: string): string {
  const list = isRecord(schema) && schema.type === "array";
  return list
    ? t("Add at least one {entry}.", { entry: name.replace(/s$/, "") })
    : t("Fill in {name}.", { name });
}

export function pathTo(path: string, step: string | number): string {
  if (typeof step === "number") return `${path}[${step}]`;
  return path === "" ? step : `${path}.${step}`;
}

class Checker {
  private steps = 0;

  constructor(private readonly root: Schema) {}

  part(part: unknown, value: unknown, path: string, depth: number): SchemaProblem[] {
    if (part === false) return [{ path, message: t("Nothing may stand here.") }];
    if (!isRecord(part) || depth > deepest || this.steps++ > mostSteps) return [];
    const schema = resolve(part, this.root);
    const problem = typeProblem(schema, value) ?? choiceProblem(schema, value);
    if (problem !== undefined) return [{ path, message: problem }];
    return [...this.inside(schema, value, path, depth), ...this.joined(schema, value, path, depth)];
  }

  private inside(schema: Schema, value: unknown, path: string, depth: number): SchemaProblem[] {
    if (typeof value === "string") return one(path, textProblem(schema, value));
    if (typeof value === "number") return one(path, numberProblem(schema, value));
    if (Array.isArray(value)) return this.list(schema, value, path, depth);
    return isRecord(value) ? this.group(schema, value, path, depth) : [];
  }

  private list(schema: Schema, value: readonly unknown[], path: string, depth: number): SchemaProblem[] {
    const problems = one(path, listProblem(schema, value));
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    value.forEach((item, at) => {
      const part = at < first.length ? first[at] : schema.items;
      problems.push(...this.part(part, item, pathTo(path, at), depth + 1));
    });
    return problems;
  }

  private group(
    schema: Schema,
    value: Record<string, unknown>,
    path: string,
    depth: number,
  ): SchemaProblem[] {
    const problems: SchemaProblem[] = [];
    const properties = isRecord(schema.properties) ? schema.properties : {};
    for (const name of Array.isArray(schema.required) ? schema.required : [])
      if (!Object.hasOwn(value, name) || value[name] === undefined)
        problems.push({
          path: pathTo(path, String(name)),
          message: asks(properties[name], String(name)),
          lacks: true,
        });
    for (const [name, item] of Object.entries(value)) {
      if (item === undefined) continue;
      const known = Object.hasOwn(properties, name);
      const at = pathTo(path, name);
      if (known) problems.push(...this.part(properties[name], item, at, depth + 1));
      else if (schema.patternProperties !== undefined)
        continue; // names by patterns are the host's to check
      else if (schema.additionalProperties === false)
        problems.push({ path: at, message: t("There is no field of this name.") });
      else problems.push(...this.part(schema.additionalProperties, item, at, depth + 1));
    }
    return problems;
  }

  /** Schemas that are joined: all of them, any, or exactly one must fit. */
  private joined(schema: Schema, value: unknown, path: string, depth: number): SchemaProblem[] {
    const parts = (keyword: string) => (Array.isArray(schema[keyword]) ? schema[keyword] : []) as unknown[];
    const fits = (part: unknown) => this.part(part, value, path, depth + 1).length === 0;
    const problems = parts("allOf").flatMap((part) => this.part(part, value, path, depth + 1));
    if (parts("anyOf").length > 0 && !parts("anyOf").some(fits))
      problems.push({ path, message: t("It fits none of the allowed forms.") });
    if (parts("oneOf").length > 0 && parts("oneOf").filter(fits).length !== 1)
      problems.push({ path, message: t("It must fit exactly one of the allowed forms.") });
    if (schema.not !== undefined && fits(schema.not))
      problems.push({ path, message: t("This is not allowed.") });
    return problems;
  }
}

function one(path: string, message: string | undefined): SchemaProblem[] {
  return message === undefined ? [] : [{ path, message }];
}

const typeWords: Record<string, string> = {
  string: t("a text"),
  number: t("a number"),
  integer: t("a whole number"),
  boolean: t("yes or no"),
  array: t("a list"),
  object: t("an object with named fields"),
  null: "null",
};

function typeProblem(schema: Schema, value: unknown): string | undefined {
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter(
    (t) => typeof t === "string",
  );
  if (types.length === 0 || types.some((type) => hasType(type, value))) return undefined;
  const words = types.map((type) => typeWords[type] ?? type);
  return t("It must be {types}.", {
    types: words.reduce((one, other) => t("{one} or {other}", { one, other })),
  });
}

function hasType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isRecord(value);
  if (type === "integer") return Number.isInteger(value);
  return type === typeof value;
}

function choiceProblem(schema: Schema, value: unknown): string | undefined {
  if ("const" in schema && !same(schema.const, value))
    return t("It must be {value}.", { value: JSON.stringify(schema.const) });
  if (!Array.isArray(schema.enum) || schema.enum.some((allowed) => same(allowed, value))) return undefined;
  const values = schema.enum.map((allowed) => JSON.stringify(allowed)).join(", ");
  return t("It must be one of {values}.", { values });
}

function same(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

/** JSON in which the order of an object's names does not show. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

function textProblem(schema: Schema, value: string): string | undefined {
  const length = [...value].length;
  const [least, most] = [number(schema.minLength), number(schema.maxLength)];
  if (length < least)
    return length === 0
      ? t("It must not be empty.")
      : tn(least, "It needs at least {n} character.", "It needs at least {n} characters.");
  if (length > most)
    return tn(most, "It may have at most {n} character.", "It may have at most {n} characters.");
  return patternProblem(schema.pattern, value);
}

function numberProblem(schema: Schema, value: number): string | undefined {
  if (!Number.isFinite(value)) return t("It is too large a number.");
  if (value < number(schema.minimum))
    return t("It must be at least {limit}.", { limit: String(schema.minimum) });
  if (value > number(schema.maximum))
    return t("It must be at most {limit}.", { limit: String(schema.maximum) });
  if (value <= number(schema.exclusiveMinimum))
    return t("It must be above {limit}.", { limit: String(schema.exclusiveMinimum) });
  if (value >= number(schema.exclusiveMaximum))
    return t("It must be below {limit}.", { limit: String(schema.exclusiveMaximum) });
  const times = value / number(schema.multipleOf);
  if (Math.abs(times - Math.round(times)) > 1e-9)
    return t("It must be a multiple of {limit}.", { limit: String(schema.multipleOf) });
  return undefined;
}

function listProblem(schema: Schema, value: readonly unknown[]): string | undefined {
  const [least, most] = [number(schema.minItems), number(schema.maxItems)];
  if (value.length < least)
    return tn(least, "It needs at least {n} entry.", "It needs at least {n} entries.");
  if (value.length > most)
    return tn(most, "It may have at most {n} entry.", "It may have at most {n} entries.");
  if (schema.uniqueItems === true && new Set(value.map(canonical)).size < value.length)
    return t("Each entry may stand in it only once.");
  return undefined;
}
