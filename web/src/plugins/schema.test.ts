// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldLabel, fieldOf, limitWords, resolve, type Schema, startingConfig } from "./schema.ts";

const kinds: [string, Schema, string][] = [
  ["a text", { type: "string" }, "text"],
  ["a number", { type: "number" }, "number"],
  ["a whole number", { type: "integer" }, "number"],
  ["yes or no", { type: "boolean" }, "switch"],
  ["an enum", { enum: ["a", 1] }, "choice"],
  ["a const", { const: 7 }, "choice"],
  ["either of two consts", { oneOf: [{ const: "a" }, { const: "b" }] }, "choice"],
  ["a number or nothing", { type: ["number", "null"] }, "number"],
  ["a list", { type: "array", items: { type: "string" } }, "list"],
  ["a list of anything", { type: "array" }, "json"],
  ["named fields", { properties: { a: {} } }, "group"],
  ["no fields", { type: "object", additionalProperties: false }, "group"],
  ["free names", { type: "object", additionalProperties: { type: "string" } }, "json"],
  ["either of two types", { type: ["string", "number"] }, "json"],
  ["alternatives", { anyOf: [{ type: "string" }, { type: "number" }] }, "json"],
  ["anything", {}, "json"],
  ["a type that is none", { type: 7 }, "json"],
];
for (const [name, schema, kind] of kinds) {
  test(`fieldOf: ${name} is asked for as ${kind}`, () => assert.equal(fieldOf(schema).kind, kind));
}

test("fieldOf: a group tells which of its fields are needed", () => {
  const field = fieldOf({ properties: { a: { type: "string" }, b: true }, required: ["a"] });
  assert.deepEqual(field, {
    kind: "group",
    properties: [
      { name: "a", schema: { type: "string" }, required: true },
      { name: "b", schema: {}, required: false },
    ],
  });
});

test("resolve: follows references within the schema, and no others", () => {
  const root = { $defs: { "a/b": { type: "string" }, loop: { $ref: "#/$defs/loop" } } };
  assert.deepEqual(resolve({ $ref: "#/$defs/a~1b", title: "T" }, root), { type: "string", title: "T" });
  assert.deepEqual(resolve({ $ref: "https://example.com/x", title: "T" }, root), { title: "T" });
  assert.deepEqual(resolve({ $ref: "#/__proto__/x" }, root), {});
  assert.equal(typeof resolve({ $ref: "#/$defs/loop" }, root), "object"); // and it ends
});

const told: [Schema, string][] = [
  [{ minimum: 0, maximum: 1, default: 0.05 }, "0 to 1; default 0.05"],
  [{ exclusiveMinimum: 0, exclusiveMaximum: 1 }, "between 0 and 1"],
  [{ minimum: 4 }, "at least 4"],
  [{ exclusiveMinimum: 0, maximum: 2 }, "above 0, at most 2"],
  [{ maxLength: 4000, default: "User" }, "at most 4,000 characters; default User"],
  [{ type: "boolean", default: true }, ""],
  [{ minimum: "low" }, ""],
];
for (const [schema, want] of told) {
  test(`limitWords of ${JSON.stringify(schema)}`, () => assert.equal(limitWords(schema), want));
}

test("fieldLabel: the title, or the name in words", () => {
  assert.equal(fieldLabel("ignore_case", {}), "Ignore case");
  assert.equal(fieldLabel("x", { title: "Weight" }), "Weight");
  assert.equal(fieldLabel("_", {}), "_");
});

test("startingConfig: defaults of what is needed, and nothing else", () => {
  const schema = {
    type: "object",
    required: ["mode", "words", "kind", "inner"],
    properties: {
      mode: { type: "string", default: "fast" },
      words: { type: "array", items: { type: "string" } },
      kind: { const: "v1" },
      inner: { properties: { n: { default: 3 } }, required: ["n"] },
      other: { default: 5 },
    },
  };
  assert.deepEqual(startingConfig(schema), { mode: "fast", kind: "v1", inner: { n: 3 } });
  assert.deepEqual(startingConfig(undefined), {});
  const endless = { properties: { a: { $ref: "#" } }, required: ["a"] };
  assert.equal(typeof startingConfig(endless), "object"); // and it ends
});
