// SPDX-License-Identifier: MIT

// The formats an answer can be bound to: JSON, a schema, a grammar, an expression.
import { t } from "../language/language.ts";
import { isRecord } from "../text/parsedjson.ts";
import type { Format } from "./settings.ts";

/** What an answer can be bound to. */
export const answerFormats: readonly { kind: Format["kind"]; label: string; help: string }[] = [
  { kind: "text", label: t("Text"), help: t("The answer is free.") },
  { kind: "json", label: "JSON", help: t("The answer is a JSON object.") },
  {
    kind: "schema",
    label: t("JSON schema"),
    help: t("The answer is JSON that fits the schema, with its fields in your order."),
  },
  {
    kind: "grammar",
    label: t("Grammar"),
    help: t(
      "The answer fits a grammar in GBNF, which begins with the rule root, or in Lark's notation after a line %llguidance {}.",
    ),
  },
  {
    kind: "regex",
    label: t("Regular expression"),
    help: t("The whole answer matches it, in Go's syntax: Perl's without look-around."),
  },
];

export type Written = Extract<Format, { text: string }>["kind"];

interface Example {
  name: string;
  text: string;
}

function schema(name: string, value: unknown): Example {
  return { name, text: JSON.stringify(value, undefined, 2) };
}

/** Something to begin with. */
export const formatExamples: Readonly<Record<Written, readonly Example[]>> = {
  schema: [
    schema(t("A person"), {
      type: "object",
      properties: {
        name: { type: "string", maxLength: 30 },
        age: { type: "integer", minimum: 0, maximum: 120 },
      },
      required: ["name", "age"],
    }),
    schema(t("A list of texts"), {
      type: "array",
      items: { type: "string", maxLength: 40 },
      minItems: 1,
      maxItems: 5,
    }),
    schema(t("A choice"), {
      type: "object",
      properties: { sentiment: { enum: ["positive", "neutral", "negative"] } },
      required: ["sentiment"],
    }),
  ],
  grammar: [
    { name: t("Yes or no"), text: 'root ::= "Yes." | "No."' },
    // untranslated: a grammar
    { name: t("A list"), text: 'root ::= item item item\nitem ::= "- " [^\\n]+ "\\n"' },
    { name: t("A sum"), text: 'root ::= number (" + " number)+ " = " number\nnumber ::= [0-9]+' },
  ],
  regex: [
    { name: t("Yes or no"), text: "Yes|No" },
    { name: t("A date"), text: "\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])" },
    { name: t("A few words"), text: "[A-Z][a-z]+( [a-z]+){2,7}\\." },
  ],
};

/** What is wrong with a format, as far as the page can tell; the host knows the rest. */
export function problemOf(format: Format): string {
  if (!("text" in format)) return "";
  if (format.text.trim() === "") return t("Nothing is written yet, so the answer is free.");
  if (format.kind === "grammar")
    return /^\s*root\s*::=/m.test(format.text)
      ? ""
      : t('A grammar needs a rule with the name root, such as root ::= "Yes".');
  return format.kind === "schema" ? schemaProblem(format.text) : "";
}

function schemaProblem(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? "" : t('A JSON schema is an object, such as {"type": "object"}.');
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return t("This is not JSON yet: {problem}", { problem });
  }
}
