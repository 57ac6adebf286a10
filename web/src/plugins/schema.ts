// SPDX-License-Identifier: MIT

// Turns a JSON schema into the fields of a form, and into a first value.
import { t, tn } from "../language/language.ts";
import { isRecord } from "../text/parsedjson.ts";

/** A JSON schema, or a part of one. Anybody can write one, so each keyword may have any value. */
export type Schema = Record<string, unknown>;

/** How a value that fits a schema is asked for. */
export type Field =
  | { kind: "text"; long: boolean }
  | { kind: "number"; whole: boolean }
  | { kind: "switch" }
  | { kind: "choice"; values: readonly unknown[] }
  | { kind: "list"; item: Schema }
  | { kind: "group"; properties: readonly Property[] }
  | { kind: "json" }; // any other value: as text

export interface Property {
  name: string;
  schema: Schema;
  required: boolean;
}

const longestChain = 16; // references that lead to references
const deepestStart = 2; // levels that are filled in: a schema that refers to itself has endlessly many

/** The schema that a reference within root leads to; the schema itself without one. */
export function resolve(schema: unknown, root: Schema): Schema {
  let at = schema;
  for (let step = 0; step < longestChain && isRecord(at) && typeof at.$ref === "string"; step++) {
    const { $ref, ...beside } = at;
    const target = pointed(String($ref), root);
    at = isRecord(target) ? { ...target, ...beside } : beside;
  }
  return isRecord(at) ? at : {};
}

/** What "#/$defs/name" leads to. */
function pointed(reference: string, root: Schema): unknown {
  if (!reference.startsWith("#")) return undefined;
  const steps = reference.slice(1).split("/").slice(1);
  return steps.reduce<unknown>((at, step) => {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    return (isRecord(at) || Array.isArray(at)) && Object.hasOwn(at, name)
      ? (at as Record<string, unknown>)[name]
      : undefined;
  }, root);
}

const complex = ["anyOf", "oneOf", "allOf", "not", "if", "prefixItems", "patternProperties"];
const longText = 200; // characters; from here on a text gets several lines

/** How to ask for what fits a schema that is resolved. */
export function fieldOf(schema: Schema): Field {
  const values = choices(schema);
  if (values !== undefined) return { kind: "choice", values };
  if (complex.some((keyword) => keyword in schema)) return { kind: "json" };
  switch (typeOf(schema)) {
    case "string":
      return { kind: "text", long: number(schema.maxLength) > longText && schema.pattern === undefined };
    case "integer":
      return { kind: "number", whole: true };
    case "number":
      return { kind: "number", whole: false };
    case "boolean":
      return { kind: "switch" };
    case "array":
      return isRecord(schema.items) ? { kind: "list", item: schema.items } : { kind: "json" };
    case "object":
      return group(schema);
    default:
      return { kind: "json" };
  }
}

/** The values of an enum, a const, or an anyOf of consts. */
function choices(schema: Schema): readonly unknown[] | undefined {
  if ("const" in schema) return [schema.const];
  if (Array.isArray(schema.enum)) return schema.enum;
  const ways = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(ways) || !ways.every((way) => isRecord(way) && "const" in way)) return undefined;
  return ways.map((way) => way.const);
}

/** The one type besides null that a schema names or implies. */
function typeOf(schema: Schema): unknown {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    return types.length === 1 ? types[0] : undefined;
  }
  if (schema.type !== undefined) return schema.type;
  if (isRecord(schema.properties)) return "object";
  return isRecord(schema.items) ? "array" : undefined;
}

/** An object whose fields have names; one whose names are free is asked for as JSON. */
function group(schema: Schema): Field {
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  if (properties.length === 0 && schema.additionalProperties !== false) return { kind: "json" };
  const required = Array.isArray(schema.required) ? schema.required : [];
  return {
    kind: "group",
    properties: properties.map(([name, part]) => ({
      name,
      schema: isRecord(part) ? part : {},
      required: required.includes(name),
    })),
  };
}

/** A keyword's number; NaN without one. */
export function number(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}

/** What a person reads as the name of a field: its title, or "ignore_case" as "Ignore case". */
export function fieldLabel(name: string, schema: Schema): string {
  if (typeof schema.title === "string" && schema.title !== "") return schema.title;
  const words = name.replace(/[_-]+/g, " ").trim();
  return words === "" ? name : words[0]?.toUpperCase() + words.slice(1);
}

/** What a schema tells of a value besides its description: its limits and its default. */
export function limitWords(schema: Schema): string {
  const parts = [range(schema), sizes(schema)].filter((part) => part !== "");
  const { default: usual } = schema;
  if (usual !== undefined && usual !== "" && typeof usual !== "boolean")
    parts.push(t("default {value}", { value: typeof usual === "string" ? usual : JSON.stringify(usual) }));
  return parts.length === 0 ? "" : parts.reduce((one, other) => t("{one}; {other}", { one, other }));
}

function range(schema: Schema): string {
  const [low, high] = [number(schema.minimum), number(schema.maximum)];
  const [above, below] = [number(schema.exclusiveMinimum), number(schema.exclusiveMaximum)];
  if (low <= high || low > high) return t("{low} to {high}", { low: `${low}`, high: `${high}` });
  if (above < below) return t("between {low} and {high}", { low: `${above}`, high: `${below}` });
  const parts = [];
  if (!Number.isNaN(low)) parts.push(t("at least {limit}", { limit: `${low}` }));
  if (!Number.isNaN(above)) parts.push(t("above {limit}", { limit: `${above}` }));
  if (!Number.isNaN(high)) parts.push(t("at most {limit}", { limit: `${high}` }));
  if (!Number.isNaN(below)) parts.push(t("below {limit}", { limit: `${below}` }));
  return parts.length === 0 ? "" : parts.reduce((one, other) => t("{one}, {other}", { one, other }));
}

function sizes(schema: Schema): string {
  const most = number(schema.maxLength);
  return most > 0 ? tn(most, "at most {n} character", "at most {n} characters") : "";
}

/**
 * What a field begins with where a value is needed: its default, its only choice, or what is
 * empty.
 */
export function startingValue(schema: Schema, root: Schema, depth = 0): unknown {
  const part = resolve(schema, root);
  if (part.default !== undefined) return part.default;
  const field = fieldOf(part);
  switch (field.kind) {
    case "choice":
      return field.values[0];
    case "switch":
      return false;
    case "list":
      return [];
    case "group":
      return depth > deepestStart ? {} : startingGroup(field.properties, root, depth);
    case "json":
      return {};
    default:
      return ""; // also for a number, which is still to be typed
  }
}

/**
 * Fields that are needed and have a default or only one choice are filled in; others are for a
 * person to fill.
 */
function startingGroup(
  properties: readonly Property[],
  root: Schema,
  depth: number,
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const { name, schema, required } of properties) {
    if (!required) continue;
    const part = resolve(schema, root);
    const field = fieldOf(part);
    const only = field.kind === "choice" && field.values.length === 1;
    if (part.default !== undefined || only || field.kind === "group")
      value[name] = startingValue(part, root, depth + 1);
  }
  return value;
}

/** The configuration that a form for this schema begins with. */
export function startingConfig(schema: unknown): Record<string, unknown> {
  if (!isRecord(schema)) return {};
  const value = startingValue(schema, schema);
  return isRecord(value) ? value : {};
}
