// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { advice } from "./erroradvice.ts";

const invalid = { type: "invalid_request_error", code: "invalid_value" };

for (const { error, said, help } of [
  { error: { type: "connection_lost" }, said: /reconnects/, help: "again" },
  {
    error: { code: "context_length_exceeded", param: "messages" },
    said: /longer than the model can hold\.$/,
    help: "shorter",
  },
  {
    error: {
      code: "context_length_exceeded",
      message:
        "request (40007 tokens) exceeds the available context size (15104 tokens), the answer included",
    },
    said: /: it has 40,007 tokens, and 15,104 fit\.$/,
    help: "shorter",
  },
  { error: { code: "queue_full", type: "rate_limit_error" }, said: /wait a moment/, help: "again" },
  { error: { type: "answer_gone" }, said: /what had arrived is kept/, help: "goOn" },
  { error: { ...invalid, param: "temperature" }, said: /^No\.$/, help: "settings" },
  { error: { ...invalid, param: "plugins[0].config" }, said: /^No\.$/, help: "settings" },
  { error: { ...invalid, param: "json_schema" }, said: /^No\.$/, help: "settings" },
  {
    error: { ...invalid, param: "json_schema", message: "json_schema cannot be used: #: it is a text" },
    said: /^json_schema cannot be used: it is a text\.$/,
    help: "settings",
  },
  { error: { ...invalid, param: "messages[0]" }, said: /^No\.$/, help: "again" },
  {
    error: { code: "shutting_down", type: "unavailable_error" },
    said: /starting or stopping/,
    help: "again",
  },
  { error: { code: "model_not_found", param: "model" }, said: /choose another one/, help: "settings" },
  { error: { code: "plugin_fault", param: "plugins" }, said: /^No\.$/, help: "plugins" },
  { error: { code: "unsatisfiable", param: "grammar" }, said: /loosen/, help: "settings" },
  { error: { code: "body_too_large", param: "request" }, said: /smaller files/, help: "none" },
  { error: { code: "timeout", type: "server_error" }, said: /took longer/, help: "settings" },
  { error: { code: "too_many_detachable", param: "detach_ms" }, said: /wait a moment/, help: "again" },
  { error: { code: "internal_error", type: "server_error", param: null }, said: /^No\.$/, help: "again" },
  { error: {}, said: /^No\.$/, help: "again" },
]) {
  test(`advice on ${JSON.stringify(error)}`, () => {
    const given = advice({ message: "no", ...error });
    assert.match(given.said, said);
    assert.equal(given.help, help);
  });
}

test("advice on an error that the page has kept without words", () => {
  const lost = { type: "answer_gone", code: "answer_forgotten", message: "" };
  assert.match(advice(lost).details, /it was restarted/);
  assert.match(advice({ code: "file_gone", message: "" }).said, /edit the question and add it again\.$/);
});
