// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { remedy } from "./remedy.ts";

for (const { error, want } of [
  { error: { type: "connection_lost" }, want: /reconnects/ },
  {
    error: { code: "context_length_exceeded", type: "invalid_request_error", param: "messages" },
    want: /new chat/,
  },
  { error: { code: "queue_full", type: "rate_limit_error" }, want: /Wait a moment/ },
  { error: { code: "invalid_value", type: "invalid_request_error", param: "temperature" }, want: /Settings/ },
  {
    error: { code: "invalid_value", type: "invalid_request_error", param: "plugins[0].config" },
    want: /Settings/,
  },
  { error: { code: "invalid_value", type: "invalid_request_error", param: "json_schema" }, want: /Settings/ },
  { error: { code: "invalid_value", type: "invalid_request_error", param: "messages[0]" }, want: /^$/ },
  { error: { code: "shutting_down", type: "unavailable_error" }, want: /starting or stopping/ },
  {
    error: { code: "model_not_found", type: "invalid_request_error", param: "model" },
    want: /another model/,
  },
  { error: { code: "plugin_fault", type: "server_error", param: "plugins" }, want: /see Plugins/ },
  { error: { code: "unsatisfiable", type: "invalid_request_error", param: "grammar" }, want: /Loosen/ },
  { error: { code: "body_too_large", param: "request" }, want: /smaller files/ },
  { error: { code: "timeout", type: "server_error" }, want: /took longer/ },
  { error: { code: "too_many_detachable", param: "detach_ms" }, want: /Wait a moment/ },
  { error: { code: "internal_error", type: "server_error", param: null }, want: /^$/ },
  { error: {}, want: /^$/ },
]) {
  test(`remedy of ${JSON.stringify(error)}`, () => assert.match(remedy({ message: "no", ...error }), want));
}
