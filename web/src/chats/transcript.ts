// SPDX-License-Identifier: MIT
import type { Message } from "./message.ts";

/** A chat as a text in Markdown, for people. */
export function transcript(title: string, messages: readonly Message[]): string {
  return [`# ${title}`, ...messages.map(section)].join("\n\n").concat("\n");
}

function section({ role, content, files = [], reasoning, answer }: Message): string {
  const name = role === "user" ? "Question" : answer?.model ? `Answer of ${answer.model}` : "Answer";
  const attached = files.map((file) => `${file.name}:\n\n${fenced(file.text)}`);
  const thought = reasoning === undefined || reasoning === "" ? [] : [quoted(reasoning)];
  return [`## ${name}`, ...attached, ...thought, content].filter((part) => part !== "").join("\n\n");
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
