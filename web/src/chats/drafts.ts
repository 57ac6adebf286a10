// SPDX-License-Identifier: MIT

// What was typed and not sent yet, for each chat.
import { type Signal, signal } from "@preact/signals";
import type { SmallStorage } from "../storage.ts";
import type { Chat } from "./chat.ts";
import type { Attachment } from "./message.ts";

/** What a person has written of the next message. */
export interface Draft {
  text: string;
  files: readonly Attachment[];
}

/** The chat under which a draft is kept: all that have no message yet share the new one's. */
export function draftPlace({ id, tree }: Pick<Chat, "id" | "tree">): string {
  return tree.path.value.length === 0 ? "" : id;
}

const item = "penstock.drafts";
const most = 30; // drafts that are kept; older ones are forgotten
const longest = 50_000; // characters of one that is kept
const empty: Draft = { text: "", files: [] };

/** The drafts of all chats. Their texts outlive a reload; files would not fit. */
export class Drafts {
  private readonly drafts = new Map<string, Signal<Draft>>();

  constructor(private readonly storage: Pick<SmallStorage, "getItem" | "setItem">) {
    for (const [chat, text] of Object.entries(this.stored()))
      this.drafts.set(chat, signal({ text, files: [] }));
  }

  /** The draft of a chat, which has a message or is the new one: "". */
  of(chat: string): Signal<Draft> {
    const draft = this.drafts.get(chat) ?? signal(empty);
    this.drafts.set(chat, draft);
    return draft;
  }

  change(chat: string, change: Partial<Draft>): void {
    const draft = this.of(chat);
    draft.value = { ...draft.peek(), ...change };
    if (change.text !== undefined) this.keep();
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

  private stored(): Record<string, string> {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(item) ?? "{}");
      if (typeof stored !== "object" || stored === null) return {};
      return Object.fromEntries(Object.entries(stored).filter(([, text]) => typeof text === "string"));
    } catch {
      return {}; // not written by this page
    }
  }
}
