// SPDX-License-Identifier: MIT

// Questions that wait until the answer before them has ended.
import { effect, signal, untracked } from "@preact/signals";
import type { Chat } from "./chat.ts";
import type { Chats } from "./chats.ts";
import type { Draft, Drafts } from "./drafts.ts";

/**
 * Questions that were asked while an answer is written. Each is sent once that has ended; one
 * behind a failed answer waits for a person.
 */
export class QuestionQueue {
  private readonly waiting = signal<ReadonlySet<string>>(new Set()); // ids of chats

  constructor(
    private readonly drafts: Drafts,
    chats: Pick<Chats, "of">,
  ) {
    effect(() => {
      for (const id of this.waiting.value) {
        const chat = chats.of({ chat: id });
        if (chat !== undefined && chat.run === undefined && !failed(chat))
          untracked(() => this.send(chat, true));
      }
    });
  }

  /** What waits in a chat; undefined if nothing does. */
  of(chat: string): Draft | undefined {
    return this.waiting.value.has(chat) ? this.drafts.of(place(chat)).value : undefined;
  }

  /** Adds to what waits in a chat. */
  add(chat: string, { text, files }: Draft): void {
    const { text: before, files: kept } = this.drafts.of(place(chat)).peek();
    const whole = before === "" ? text : `${before}\n\n${text}`;
    this.drafts.change(place(chat), { text: whole, files: [...kept, ...files] });
    this.waiting.value = new Set(this.waiting.peek()).add(chat);
  }

  /** Takes it out again. */
  take(chat: string): Draft {
    const draft = this.drafts.of(place(chat)).peek();
    this.drafts.clear(place(chat));
    const left = new Set(this.waiting.peek());
    left.delete(chat);
    this.waiting.value = left;
    return draft;
  }

  /** Asks now. quietly: not because a person has just said so. */
  send(chat: Chat, quietly = false): void {
    const { text, files } = this.take(chat.id);
    chat.ask(text, [...files], quietly);
  }
}

const place = (chat: string) => `next ${chat}`;

function failed(chat: Chat): boolean {
  const leaf = chat.tree.leaf;
  return leaf !== undefined && chat.tree.node(leaf.id).value.answer?.outcome?.reason === "error";
}
