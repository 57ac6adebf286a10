// SPDX-License-Identifier: MIT

// What a person is told of an error, and which button helps.
import { t } from "../language/language.ts";
import { parameterNamed } from "../settings/parameters.ts";
import { count, duration, tokens } from "../text/numberformat.ts";
import { sentence, withoutPaths } from "../text/sentence.ts";
import type { HostError } from "./protocol.ts";

/** The button that helps. */
export type HelpfulButton = "again" | "goOn" | "shorter" | "settings" | "plugins" | "reload" | "none";

/** What a person is told of an error, and what helps. */
export interface Advice {
  said: string; // one sentence
  help: HelpfulButton;
  details: string; // what the host said, where that is more
}

/**
 * Advice on an error, in the page's words: the host's speak of request fields, and this page has
 * buttons. limit is the answer's time limit in milliseconds, if it has one.
 */
export function advice(error: HostError, limit?: number): Advice {
  const about = `${error.type ?? ""} ${error.code ?? ""} ${error.param ?? ""}`;
  const message = error.message.replace(": #: ", ": "); // #: all of a schema
  const told = own.get(error.code) ?? withoutPaths(sentence(message));
  if (/ timeout/.test(about) && limit !== undefined)
    return {
      said: t("It took longer than your limit of {time}.", { time: duration(limit) }),
      help: "settings",
      details: told,
    };
  const known = problems.find(([errors]) => errors.test(about));
  if (known === undefined)
    return { said: told, help: isSetting(error.param ?? "") ? "settings" : "again", details: "" };
  const [, words, help] = known;
  const said = (help === "shorter" && excess(error)) || words;
  return said === "" ? { said: told, help, details: "" } : { said, help, details: told };
}

/**
 * How many tokens were sent, and how many there is room for, as the host's words tell: "request
 * (40007 tokens) exceeds … (15104 tokens…"; undefined if they do not.
 */
export function sizesOf({ message }: HostError): { sent: number; room: number } | undefined {
  const [sent = 0, room = 0] = [...message.matchAll(/(\d+) tokens/g)].map(([, n]) => Number(n));
  return sent > room && room > 0 ? { sent, room } : undefined;
}

function excess(error: HostError): string {
  const sizes = sizesOf(error);
  if (sizes === undefined) return "";
  const figures = { tokens: tokens(sizes.sent), room: count(sizes.room) };
  return t("The chat is longer than the model can hold: it has {tokens}, and {room} fit.", figures);
}

/**
 * What a person can do about an error that belongs to no answer; empty if the host's words say it
 * all.
 */
export function remedy(error: HostError): string {
  switch (advice(error).help) {
    case "settings":
      return t("Change it in Settings, then try again.");
    case "plugins":
      return t("Plugins says what happened to it.");
    default:
      return "";
  }
}

// What the page itself says of errors, by their codes: it keeps them with a chat, which may be read
// in another language.
const own: ReadonlyMap<HostError["code"], string> = new Map([
  ["answer_unbegun", t("This answer had not begun when the connection was lost or the page was left.")],
  [
    "answer_forgotten",
    t(
      "The server does not have the rest of this answer any more: it was restarted, or this page was away for too long.",
    ),
  ],
  [
    "file_gone",
    t("A picture or a sound of this chat is no longer in this browser: edit the question and add it again."),
  ],
]);

const busy = t("The server has more requests than it can take; wait a moment, then try again.");

// An empty sentence: the host's own words, which name what is wrong.
const problems: readonly [RegExp, string, HelpfulButton][] = [
  [/connection_lost/, t("The connection was lost; the page reconnects by itself."), "again"],
  [/answer_gone/, t("The server no longer has the rest of this answer; what had arrived is kept."), "goOn"],
  [/file_gone/, "", "none"],
  [/context/, t("The chat is longer than the model can hold."), "shorter"],
  [/body_too_large/, t("The question is too large to send; attach fewer or smaller files."), "none"],
  [/429|overloaded|queue|rate_limit|bodies_too_large|plugins_busy|no_slot|too_many_/, busy, "again"],
  [
    /model_not_found|model_not_loadable/,
    t("The server cannot load this model; choose another one."),
    "settings",
  ],
  [/plugin_failed/, "", "settings"],
  [/plugin_fault|plugin_quarantined/, "", "plugins"],
  [
    /unsatisfiable/,
    t("No answer fits both the format and what forbids tokens; loosen one of them."),
    "settings",
  ],
  [/ timeout/, t("The answer took longer than the server or your settings allow."), "settings"],
  [/invalid_api_key/, t("The server wants its key; reload the page to enter it."), "reload"],
  [
    /unavailable|503|shutting_down|shutdown|not_ready/,
    t("The server is starting or stopping; try again soon."),
    "again",
  ],
];

const others =
  /^(model|stop|samplers|plugins|json_schema|grammar|regex|response_format|chat_template_kwargs)$/;

/** Whether a field of a request, such as "plugins[0].config", is what the settings decide. */
function isSetting(field: string): boolean {
  const [name = ""] = field.split(/[.[]/);
  return parameterNamed(name) !== undefined || others.test(name);
}
