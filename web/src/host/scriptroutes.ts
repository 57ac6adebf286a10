// SPDX-License-Identifier: MIT

// The HTTP route that checks a script.
import type { Rest } from "./rest.ts";

/** What is wrong with a script, and where. */
export interface ScriptError {
  message: string;
  line?: number; // from 1
  column?: number; // from 1
}

/** What the host says of a script without running it for an answer. */
export interface Checked {
  implements: string[]; // the calls that it has, such as sample
  error?: ScriptError; // why the host would refuse it
  log: string; // what it printed
}

/**
 * Has the host check a script with its configuration; undefined: it gets none. Throws what
 * Rest.call does: Refused with status 403 where the host takes no scripts from this client.
 */
export async function checkScript(
  rest: Pick<Rest, "call">,
  source: string,
  config: unknown,
  signal: AbortSignal,
): Promise<Checked> {
  const body = { source, ...(config !== undefined && { config }) };
  const answer = record(await rest.call("v1/scripts/check", { method: "POST", body, signal }));
  const calls = Array.isArray(answer.implements) ? answer.implements.map(String) : [];
  const log = typeof answer.log === "string" ? answer.log : "";
  if (answer.ok === true) return { implements: calls, log };
  return { implements: calls, log, error: scriptError(answer.error) };
}

function scriptError(value: unknown): ScriptError {
  const { message, line, column } = record(value);
  return {
    message: typeof message === "string" ? message : "the server refuses the script without a reason",
    ...(isPlace(line) && { line }),
    ...(isPlace(column) && { column }),
  };
}

function isPlace(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
