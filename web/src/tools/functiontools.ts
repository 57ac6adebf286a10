// SPDX-License-Identifier: MIT

// Function tools as a person writes them: a form of parameters, or JSON.
import { t } from "../language/language.ts";
import { type FunctionTool, mostInSettings, toolName } from "../settings/settings.ts";
import { isRecord } from "../text/parsedjson.ts";

export const parameterTypes = ["string", "number", "integer", "boolean", "array", "object"] as const;

/** One parameter of a function, as the form has it. */
export interface Parameter {
  name: string;
  type: (typeof parameterTypes)[number];
  description: string;
  required: boolean;
}

/** The schema of an object with these parameters. */
export function schemaOf(parameters: readonly Parameter[]): Record<string, unknown> {
  const named = parameters.filter(({ name }) => name !== "");
  const required = named.filter((parameter) => parameter.required).map(({ name }) => name);
  const properties = Object.fromEntries(
    named.map(({ name, type, description }) => [name, { type, ...(description !== "" && { description }) }]),
  );
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** The parameters that a schema describes; undefined where it says more than the form has. */
export function parametersOf(schema: Record<string, unknown>): Parameter[] | undefined {
  const { type = "object", properties = {}, required = [], ...more } = schema;
  if (type !== "object" || Object.keys(more).length > 0 || !isRecord(properties) || !Array.isArray(required))
    return undefined;
  const parameters: Parameter[] = [];
  for (const [name, value] of Object.entries(properties)) {
    const { type: kind, description = "", ...others } = isRecord(value) ? value : { type: undefined };
    const known = parameterTypes.find((one) => one === kind);
    if (known === undefined || typeof description !== "string" || Object.keys(others).length > 0)
      return undefined;
    parameters.push({ name, type: known, description, required: required.includes(name) });
  }
  return required.every((name) => parameters.some((parameter) => parameter.name === name))
    ? parameters
    : undefined;
}

/** A function as OpenAI's API has it, to be read and changed. */
export function jsonOf({ name, description, parameters }: FunctionTool): string {
  return JSON.stringify({ type: "function", function: { name, description, parameters } }, undefined, 2);
}

/**
 * The functions of a text in JSON: one or a list, as OpenAI's API has them or without the frame.
 * Throws what is wrong, in words.
 */
export function functionsIn(json: string): FunctionTool[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(
      t("It is no JSON: {error}.", { error: error instanceof Error ? error.message : String(error) }),
    );
  }
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0) throw new Error(t("There is no function in it."));
  if (list.length > mostInSettings.tools)
    throw new Error(t("A chat can have {n} functions.", { n: mostInSettings.tools }));
  return list.map((entry, at) => functionOf(entry, Array.isArray(value) ? `[${at}].` : ""));
}

function functionOf(entry: unknown, where: string): FunctionTool {
  const outer = isRecord(entry) ? entry : {};
  const {
    name,
    description = "",
    parameters = schemaOf([]),
  } = isRecord(outer.function) ? outer.function : outer;
  const field = isRecord(outer.function) ? `${where}function` : where.replace(/\.$/, "");
  const path = field === "" ? "" : `${field}.`;
  if (typeof name !== "string" || !toolName.test(name))
    throw new Error(t('{path}name must be 1 to 64 letters, digits, "_" and "-".', { path }));
  if (typeof description !== "string") throw new Error(t("{path}description must be a text.", { path }));
  if (!isRecord(parameters))
    throw new Error(t("{path}parameters must be a JSON schema of an object.", { path }));
  return { name, description, parameters };
}
