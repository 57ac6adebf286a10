// SPDX-License-Identifier: MIT

// A chat as Markdown, to be saved or read elsewhere.
import { t } from "../language/language.ts";
import { eachOnce, isPicture } from "../media/medialimits.ts";
import { isMedium, type Medium, type Message, mediaOf, resultOf } from "./message.ts";
import { readableArguments } from "./toolarguments.ts";

/**
 * A chat as a text in Markdown, for people. urls has the data: URLs of its pictures, which stand
 * at the end.
 */
export function transcript(
  title: string,
  messages: readonly Message[],
  urls: ReadonlyMap<string, string> = new Map(),
): string {
  const pictures = eachOnce(mediaOf(messages).filter((medium) => isPicture(medium) && urls.has(medium.file)));
  const numbers = new Map(pictures.map(({ file }, at) => [file, at + 1]));
  const ends = pictures.map(({ file }) => `[picture ${numbers.get(file)}]: ${urls.get(file)}`);
  const sections = messages.map((message) => section(message, numbers));
  return [`# ${title}`, ...sections, ...ends].join("\n\n").concat("\n");
}

function section(message: Message, numbers: ReadonlyMap<string, number>): string {
  const { role, content, files = [], reasoning, answer } = message;
  const name = role === "user" ? t("Question") : answerName(answer?.model);
  const attached = files.map((file) =>
    isMedium(file) ? medium(file, numbers.get(file.file)) : `${file.name}:\n\n${fenced(file.text)}`,
  );
  const thought = reasoning === undefined || reasoning === "" ? [] : [quoted(reasoning)];
  const parts = [`## ${name}`, ...attached, ...thought, content, ...calls(message)];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** What an answer is called, by its model if that is known. */
export function answerName(model = ""): string {
  return model === "" ? t("Answer") : t("Answer of {model}", { model });
}

/** The calls of tools of an answer, with what they answered. */
function calls(message: Message): string[] {
  return (message.calls ?? []).map((call) => {
    const { name, arguments: given } = call.function;
    const result = resultOf(message, call);
    const called = `${t("Calls {name}:", { name })}\n\n${fenced(readableArguments(given))}`;
    return result === undefined ? called : `${called}\n\n${t("It answers:")}\n\n${fenced(result.content)}`;
  });
}

/** A picture that is shown, or what is known of a file that a text cannot show. */
function medium(file: Medium, number: number | undefined): string {
  const name = file.name.replace(/[\\[\]\n]/g, " ");
  return number === undefined ? `(${name})` : `![${name}][picture ${number}]`;
}

/** With a fence that is longer than any in the text. */
function fenced(text: string): string {
  const runs = (text.match(/`+/g) ?? []).map((run) => run.length);
  const fence = "`".repeat(Math.max(3, 1 + runs.reduce((most, run) => Math.max(most, run), 0)));
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function quoted(text: string): string {
  return text.trim().replace(/^/gm, "> ");
}
