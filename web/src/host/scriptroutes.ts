// SPDX-License-Identifier: MIT

// The HTTP route that checks a script.
import { t } from "../language/language.ts";
import { type Rest, record } from "./rest.ts";

/** A script, and for which model it is. */
export interface ScriptQuestion {
  source: string;
  config?: unknown;
  model?: string; // absent: the only one
}

/** What is wrong with a script, and where. */
export interface ScriptError {
  message: string;
  line?: number; // from 1
  column?: number; // from 1, in bytes of UTF-8
  ofConfig?: boolean; // the script is sound, and does not take this configuration
}

/** What the host says of a script without running it for an answer. */
export interface Checked {
  implements: string[]; // the calls that it has, such as sample
  log?: string[]; // what its code outside of hooks has printed
  error?: ScriptError; // why the host would refuse it
}

/**
 * Has the host check a script. Throws what Rest.call does: Refused with status 403 where the host
 * takes no scripts from this client.
 */
export async function checkScript(
  rest: Pick<Rest, "call">,
  body: ScriptQuestion,
  signal: AbortSignal,
): Promise<Checked> {
  const answer = record(await rest.call("v1/scripts/check", { method: "POST", body, signal }));
  const calls = Array.isArray(answer.implements) ? answer.implements.map(nameOf) : [];
  const log = Array.isArray(answer.log) ? answer.log.map(String) : [];
  const known = { implements: calls.filter((name) => name !== "open"), ...(log.length > 0 && { log }) };
  return answer.ok === true ? known : { ...known, error: scriptError(answer.error) };
}

function nameOf(call: unknown): string {
  return String(call).replace(/^penstock_/, "");
}

/**
 * What an error of the host says of a script: beside the line stands what the script itself threw,
 * and what it printed last.
 */
export function scriptError(value: unknown): ScriptError {
  const { message, line, column, param } = record(value);
  const said = typeof message === "string" ? message : t("the server refuses the script without a reason");
  const [, inLine, inColumn] = /\(script\.js:(\d+)(?::(\d+))?\)/.exec(said) ?? [];
  const place = {
    line: isPlace(line) ? line : Number(inLine),
    column: isPlace(column) ? column : Number(inColumn),
  };
  return {
    message: said
      .replace(/^plugin [\w.-]+: penstock_\w+: error of the plugin: /, "")
      .replace(/ \(script\.js:\d+(:\d+)?\)/, "")
      .replace("; its log ends with: ", "\nConsole: "), // untranslated: of the server
    ...(isPlace(place.line) && { line: place.line }),
    ...(isPlace(place.column) && { column: place.column }),
    ...(/^config\b/.test(String(param)) && { ofConfig: true }),
  };
}

function isPlace(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0;
}
