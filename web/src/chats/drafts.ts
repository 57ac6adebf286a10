// SPDX-License-Identifier: MIT

// What was typed and not sent yet, for each chat.
import { type Signal, signal } from "@preact/signals";
import type { SmallStorage } from "../storage.ts";
import { isRecord } from "../text/parsedjson.ts";
import type { Chat } from "./chat.ts";
import { cleanFile } from "./cleanchat.ts";
import { type Attachment, isMedium, type TextFile } from "./message.ts";

/** What a person has written of the next message. */
export interface Draft {
  text: string;
  files: readonly Attachment[];
}

/** What is written in chats and not sent, which goes with those that are deleted. */
export interface Unsent {
  /** Takes all of a chat out; undefined: there is nothing. */
  takeUnsent(chat: string): Draft | undefined;
  /** Puts it back, as the chat's draft. */
  putUnsent(chat: string, draft: Draft): void;
}

/** The chat under which a draft is kept: all that have no message yet share the new one's. */
export function draftPlace({ id, tree }: Pick<Chat, "id" | "tree">): string {
  return tree.path.value.length === 0 ? "" : id;
}

const item = "penstock.drafts";
const most = 30; // drafts that are kept; older ones are forgotten
const longest = 50_000; // characters of one that is kept
const filesItem = "penstock.draftfiles";
const mostInFiles = 1_500_000; // characters of all files that are kept: the storage holds some millions
const empty: Draft = { text: "", files: [] };

/**
 * The drafts of all chats. What was typed outlives a reload, and so do text files, as a long paste,
 * in the drafts that were changed last. Pictures and sounds would not fit.
 */
export class Drafts {
  private readonly drafts = new Map<string, Signal<Draft>>();

  constructor(private readonly storage: Pick<SmallStorage, "getItem" | "setItem">) {
    const files = this.stored(filesItem);
    for (const [chat, text] of Object.entries(this.stored(item)))
      if (typeof text === "string") this.drafts.set(chat, signal({ text, files: [] }));
    for (const [chat, list] of Object.entries(files)) {
      const kept = (Array.isArray(list) ? list : []).flatMap((file) => cleanFile(file) ?? []);
      const { text } = this.of(chat).peek();
      this.drafts.set(chat, signal({ text, files: kept.filter(isText) }));
    }
  }

  /** The draft of a chat, which has a message or is the new one: "". */
  of(chat: string): Signal<Draft> {
    const draft = this.drafts.get(chat) ?? signal(empty);
    this.drafts.set(chat, draft);
    return draft;
  }

  change(chat: string, change: Partial<Draft>): void {
    const draft = this.of(chat);
    const before = draft.peek();
    draft.value = { ...before, ...change };
    if (change.text !== undefined) this.keep();
    if (change.files !== undefined && [...before.files, ...change.files].some(isText)) this.keepFiles(chat);
  }

  /** Takes a draft out: nothing of it is kept. */
  take(chat: string): Draft {
    const draft = this.drafts.get(chat)?.peek() ?? empty;
    if (!isEmpty(draft)) this.clear(chat);
    return draft;
  }

  clear(chat: string): void {
    this.change(chat, empty);
  }

  private keep(): void {
    const texts = [...this.drafts].map(
      ([chat, draft]) => [chat, draft.peek().text.slice(0, longest)] as const,
    );
    const kept = texts.filter(([, text]) => text.trim() !== "").slice(-most);
    this.storage.setItem(item, JSON.stringify(Object.fromEntries(kept)));
  }

  /** Keeps the text files of all drafts as far as there is room, those of the named one first. */
  private keepFiles(first: string): void {
    let left = mostInFiles;
    const kept = [...new Set([first, ...[...this.drafts.keys()].reverse()])].flatMap((chat) => {
      const files = this.of(chat).peek().files.filter(isText);
      const size = files.reduce((sum, { name, text }) => sum + name.length + text.length, 0);
      if (size > left || files.length === 0) return [];
      left -= size;
      return [[chat, files] as const];
    });
    this.storage.setItem(filesItem, JSON.stringify(Object.fromEntries(kept)));
  }

  private stored(name: string): Record<string, unknown> {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(name) ?? "{}");
      return isRecord(stored) ? stored : {};
    } catch {
      return {}; // not written by this page
    }
  }
}

export function isEmpty({ text, files }: Draft): boolean {
  return text === "" && files.length === 0;
}

function isText(file: Attachment): file is TextFile {
  return !isMedium(file);
}
