// SPDX-License-Identifier: MIT

// The form that is made from a plugin's config schema, with the host that takes what it makes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatPage, patience, useBrowser } from "./browser.ts";
import { hooks, pluginModule } from "./module.ts";
import { unfold } from "./plugins.ts";
import { useServer } from "./server.ts";

/** Every kind of value that a form asks for. */
const rich = {
  type: "object",
  additionalProperties: false,
  required: ["mode", "rules", "kind", "limits"],
  properties: {
    mode: { enum: ["fast", "slow"], description: "how thoroughly it looks" },
    weight: { type: "number", minimum: 0, maximum: 1, default: 0.5 },
    count: { type: "integer", minimum: 1 },
    rules: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["word"],
        properties: { word: { type: "string", minLength: 1 }, strict: { type: "boolean" } },
      },
    },
    limits: { $ref: "#/$defs/limits" },
    spare: { $ref: "#/$defs/limits", description: "used when the first ones are reached" },
    when: { anyOf: [{ type: "string" }, { type: "number" }], title: "Begin at" },
    kind: { const: "v1" },
  },
  $defs: { limits: { type: "object", properties: { tokens: { type: "integer", maximum: 100 } } } },
};

const other = {
  file: "rich.wasm",
  bytes: pluginModule({ name: "rich", config_schema: rich }, hooks.ending),
};
useBrowser();
const server = useServer({ plugins: ["banned-phrases", other] });

test("Form: keeps to the schema, and can be left for JSON", { timeout: 3 * patience }, async () => {
  const chat = await ChatPage.open(`${server.url}/#/plugins`);
  const { page } = chat;
  const plugin = await unfold(page, "banned-phrases");
  await plugin.getByRole("button", { name: "Add to Phrases" }).click();
  const entry = plugin.getByRole("textbox", { name: "Phrases 1" });
  await entry.blur();
  await plugin.getByText("It must not be empty.", { exact: true }).waitFor();
  await entry.fill("frog");
  await plugin.getByRole("button", { name: "Add to Phrases" }).click();
  await plugin.getByRole("textbox", { name: "Phrases 2" }).fill("toad");
  await plugin.getByRole("button", { name: "Move Phrases 2 up" }).click();
  assert.equal(await entry.inputValue(), "toad");
  await plugin.getByRole("switch", { name: "Ignore case" }).uncheck();

  await plugin.getByRole("button", { name: "Edit as JSON" }).click();
  const json = plugin.getByRole("textbox", { name: "Configuration" });
  assert.deepEqual(JSON.parse(await json.inputValue()), { phrases: ["toad", "frog"], ignore_case: false });
  await json.fill('{"phrases": [');
  await plugin.getByText(/^This is not JSON/).waitFor();
  await json.fill('{"phrases": ["newt"], "colour": 1}');
  await plugin.getByText("colour: There is no field of this name.", { exact: true }).waitFor();
  await json.fill('{"phrases": ["newt"]}');
  await plugin.getByRole("switch", { name: "Use in this chat" }).check();
  await plugin.getByRole("button", { name: "Edit as a form" }).click();
  assert.equal(await entry.inputValue(), "newt");
  assert.deepEqual(chat.complaints, []);
});

test("Form: asks for values of every kind, and what it makes the host takes", {
  timeout: 3 * patience,
}, async () => {
  const chat = await ChatPage.open(`${server.url}/#/plugins`);
  const { page } = chat;
  const plugin = await unfold(page, "rich");
  await plugin.getByRole("combobox", { name: "Mode" }).selectOption("slow");
  const weight = plugin.getByRole("textbox", { name: "Weight" });
  await weight.fill("1.5");
  await plugin.getByText("It must be at most 1.").waitFor();
  await weight.fill("0,50"); // as many write it
  assert.equal(await weight.inputValue(), "0,50", "what is typed is written anew");
  const count = plugin.getByRole("textbox", { name: "Count" });
  await count.fill("two");
  await plugin.getByText("It must be a whole number.").waitFor();
  await count.fill("2");
  await plugin.getByRole("button", { name: "Add to Rules" }).click();
  await plugin.getByRole("textbox", { name: "Rules 1: Word" }).fill("frog");
  await plugin.getByRole("switch", { name: "Rules 1: Strict" }).check();
  await plugin.getByRole("textbox", { name: "Limits: Tokens" }).fill("7");
  await plugin.getByRole("button", { name: "Set Spare" }).click();
  await plugin.getByRole("textbox", { name: "Spare: Tokens" }).fill("8");
  await plugin.getByRole("button", { name: "Remove Spare" }).click();
  await plugin.getByRole("textbox", { name: "Begin at" }).fill("{");
  await plugin.getByText(/^This is not JSON/).waitFor();
  assert.equal(await plugin.getByRole("switch", { name: "Use in this chat" }).isDisabled(), true);
  await plugin.getByRole("textbox", { name: "Begin at" }).fill("3");
  await plugin.getByRole("switch", { name: "Use in this chat" }).check();
  await plugin.getByRole("button", { name: "Edit as JSON" }).click();
  assert.deepEqual(JSON.parse(await plugin.getByRole("textbox", { name: "Configuration" }).inputValue()), {
    mode: "slow",
    weight: 0.5,
    count: 2,
    rules: [{ word: "frog", strict: true }],
    limits: { tokens: 7 },
    when: 3,
    kind: "v1",
  });
  await plugin.getByRole("button", { name: "Try", exact: true }).click();
  await plugin.getByText(/This chat uses it already|Both are the same/).waitFor(); // the host refused nothing
  assert.deepEqual(chat.complaints, []);
});
