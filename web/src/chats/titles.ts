// SPDX-License-Identifier: MIT

// Has the model give a chat its title, once it has an answer.
import { effect, untracked } from "@preact/signals";
import type { GenerateRequest } from "../host/protocol.ts";
import { withoutControls } from "../text/bidi.ts";
import type { Answers } from "./answers.ts";
import { type Chat, longestTitle, questionTitle, titleOf } from "./chat.ts";
import type { Chats } from "./chats.ts";
import { type Message, unkept } from "./message.ts";
import type { RunningAnswer } from "./runninganswer.ts";

const mostMessages = 6; // a chat that has more keeps the title that it has

const instruction =
  "Write a title for this conversation: at most six words, in the language of the question. " + // untranslated: so says it
  "Answer with the title alone, without quotation marks.";

/** What a request for a title has besides its messages. */
const titleFields = {
  max_tokens: 32,
  temperature: 0.2,
  reasoning_budget_tokens: 0,
  priority: -100, // after all that anybody waits for
};

/** Gives chats titles in the model's words. */
export class Titles {
  private run: RunningAnswer | undefined;

  /** request makes that for an answer to messages as they are put to the model in a chat. */
  constructor(
    private readonly chats: Pick<Chats, "of" | "rename">,
    private readonly answers: Answers,
    private readonly request: (chat: Chat, messages: readonly Message[], model: string) => GenerateRequest,
  ) {
    effect(() => {
      if (this.others()) untracked(() => this.giveUp());
    });
  }

  /**
   * Asks for a title of the chat of an answer that has ended, unless somebody has given it one.
   * Nobody waits for that: it is given up when anything else is asked.
   */
  suggest({ chat: id, message }: RunningAnswer): void {
    const { content, answer } = message.peek();
    const chat = this.chats.of({ chat: id });
    const failed = answer?.outcome?.reason === "error" || answer?.outcome?.reason === "cancelled";
    if (chat === undefined || content === "" || failed || this.others()) return;
    const messages = chat.tree.path.peek().map((id) => chat.tree.node(id).peek());
    const [question] = messages;
    if (question === undefined || messages.length > mostMessages) return;
    const given = questionTitle(question);
    if (chat.title.peek() !== given) return;
    this.giveUp();
    // The chat's own messages, as the next question has them, so that the host has computed nearly
    // all of it and still has it for that question.
    const asked = [...messages, unkept("user", instruction)];
    const run = this.answers.startUnkept({
      ...this.request(chat, asked, answer?.model ?? ""),
      ...titleFields,
    });
    this.run = run;
    const stop = effect(() => {
      const { content, answer } = run.message.value;
      if (answer?.phase !== "done") return;
      queueMicrotask(() => stop());
      const title = titleFrom(content, answer.outcome?.reason !== "stop");
      const now = this.chats.of({ chat: id });
      if (this.run !== run || title === "" || now?.title.peek() !== given) return;
      untracked(() => void this.chats.rename(id, title));
    });
  }

  /** Whether anything else is asked of the host. */
  private others(): boolean {
    return [...this.answers.running.value.values()].some((run) => run !== this.run);
  }

  private giveUp(): void {
    const { run } = this;
    this.run = undefined;
    if (run !== undefined) this.answers.stop(run);
  }
}

/**
 * The title in what a model wrote: one line, without what models put around it. "": there is none.
 * cut: it ended before its end.
 */
export function titleFrom(text: string, cut: boolean): string {
  const lines = withoutControls(text.slice(0, 1000))
    .replace(/\p{Cc}/gu, (sign) => (sign === "\n" ? sign : " "))
    .split("\n")
    .map(plain);
  const at = lines.findIndex((line) => /[\p{L}\p{N}]/u.test(line));
  const line = lines[at] ?? "";
  if (cut && at === lines.length - 1) return "";
  return line.length > 2 * longestTitle ? "" : titleOf(line); // as long as that it is an answer, and no title
}

/** A line without a label, marks of Markdown, quotation marks, and the stop at its end. */
function plain(line: string): string {
  return line
    .replace(/^[\s#*_>-]*(title\s*:)?/i, "")
    .replace(/^[\s*_"'`“”„«»‘’]+|[\s*_"'`“”„«»‘’.。]+$/gu, "");
}
