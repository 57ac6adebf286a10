// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { functionsIn, jsonOf, type Parameter, parametersOf, schemaOf } from "./functiontools.ts";

const parameters: Parameter[] = [
  { name: "city", type: "string", description: "Where.", required: true },
  { name: "days", type: "integer", description: "", required: false },
];

test("schemaOf and parametersOf: a form becomes a schema and back", () => {
  const schema = schemaOf([...parameters, { name: "", type: "string", description: "", required: true }]);
  assert.deepEqual(schema, {
    type: "object",
    properties: { city: { type: "string", description: "Where." }, days: { type: "integer" } },
    required: ["city"],
  });
  assert.deepEqual(parametersOf(schema), parameters);
  assert.deepEqual(parametersOf(schemaOf([])), []);
});

for (const [name, schema] of [
  ["a keyword of its own", { type: "object", properties: {}, additionalProperties: false }],
  ["an enumeration", { properties: { a: { type: "string", enum: ["b"] } } }],
  ["no type", { properties: { a: {} } }],
  ["a required parameter that is not there", { properties: {}, required: ["a"] }],
] as const) {
  test(`parametersOf: ${name} is more than the form can show`, () =>
    assert.equal(parametersOf(schema), undefined));
}

test("functionsIn: one function or several, as OpenAI's API has them or bare", () => {
  const tool = { name: "weather", description: "", parameters: schemaOf(parameters) };
  assert.deepEqual(functionsIn(jsonOf(tool)), [tool]);
  assert.deepEqual(functionsIn(`[${jsonOf(tool)}, {"name": "now"}]`), [
    tool,
    { name: "now", description: "", parameters: schemaOf([]) },
  ]);
});

for (const [name, json, want] of [
  ["no JSON", "{", /^It is no JSON: /],
  ["an empty list", "[]", /^There is no function/],
  [
    "a name that the host refuses",
    '[{"type":"function","function":{"name":"a b"}}]',
    /^\[0\]\.function\.name /,
  ],
  ["a schema that is none", '{"name":"a","parameters":[]}', /^parameters must/],
  ["a number", "7", /^name must/],
] as const) {
  test(`functionsIn: ${name} is named`, () => assert.throws(() => functionsIn(json), { message: want }));
}
