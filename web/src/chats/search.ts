// SPDX-License-Identifier: MIT

// Finds the chats that contain all words of a query.
import type { ChatInfo } from "./chatinfo.ts";
import type { Message } from "./message.ts";

/** A part of a text around what was looked for. */
export interface Passage {
  before: string;
  match: string;
  after: string;
}

/**
 * A chat that has all words. The passage is of its message; without one the words are in the
 * title.
 */
export interface Hit {
  chat: ChatInfo;
  message?: string;
  passage?: Passage;
}

/**
 * Looks for all words of a query in titles and messages, whatever their case and accents. Stops
 * when the signal says so.
 */
export async function* searchChats(
  query: string,
  chats: readonly ChatInfo[],
  messages: (chat: string) => Promise<readonly Message[]>,
  signal: AbortSignal,
): AsyncGenerator<Hit> {
  const words = fold(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return;
  for (const chat of chats) {
    const found = matches(chat.title, words) ? undefined : await within(chat, messages, words);
    if (signal.aborted) return;
    if (found !== undefined) yield found;
    else if (matches(chat.title, words)) yield { chat };
  }
}

async function within(
  chat: ChatInfo,
  messages: (chat: string) => Promise<readonly Message[]>,
  words: readonly string[],
): Promise<Hit | undefined> {
  const all = await messages(chat.id);
  const message = all.find(({ content }) => matches(content, words));
  return message && { chat, message: message.id, passage: passageAround(message.content, words[0] ?? "") };
}

function matches(text: string, words: readonly string[]): boolean {
  const folded = fold(text);
  return words.every((word) => folded.includes(word));
}

const plain = /^[\x20-\x7e\s]*$/;

/** Without case and accents, so that "cafe" finds "Café". */
function fold(text: string): string {
  if (plain.test(text)) return text.toLowerCase();
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

const around = { before: 30, after: 90 }; // characters that are shown

/**
 * Where a folded word stands in a text. Folding may change lengths, so the place is found
 * character by character.
 */
export function passageAround(text: string, word: string): Passage {
  const start = fold(text).indexOf(word);
  const from = unfolded(text, Math.max(0, start));
  const to = unfolded(text, Math.max(0, start) + word.length);
  const begin = Math.max(0, from - around.before);
  return {
    before: (begin > 0 ? "…" : "") + line(text.slice(begin, from)).trimStart(),
    match: line(text.slice(from, to)),
    after: line(text.slice(to, to + around.after)),
  };
}

function unfolded(text: string, length: number): number {
  if (plain.test(text)) return length;
  let at = 0;
  let seen = 0;
  for (const character of text) {
    if (seen >= length) break;
    seen += fold(character).length;
    at += character.length;
  }
  return at;
}

function line(text: string): string {
  return text.replace(/\s+/g, " ");
}
