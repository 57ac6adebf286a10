// SPDX-License-Identifier: MIT

// Questions that wait until the answer before them has ended.
import { effect, signal, untracked } from "@preact/signals";
import type { Chat } from "./chat.ts";
import type { Chats } from "./chats.ts";
import { type Draft, type Drafts, isEmpty, type Unsent } from "./drafts.ts";
import { openCalls } from "./message.ts";

/**
 * Questions that were asked while an answer is written. Each is sent once that has ended; one
 * behind a failed answer, or behind calls of tools that are not answered, waits for a person.
 */
export class QuestionQueue implements Unsent {
  private readonly waiting = signal<ReadonlySet<string>>(new Set()); // ids of chats

  constructor(
    private readonly drafts: Drafts,
    chats: Pick<Chats, "of">,
  ) {
    effect(() => {
      for (const id of this.waiting.value) {
        const chat = chats.of({ chat: id });
        if (chat !== undefined && chat.run === undefined && !halted(chat))
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
    this.drafts.change(place(chat), joined(this.drafts.of(place(chat)).peek(), { text, files }));
    this.waiting.value = new Set(this.waiting.peek()).add(chat);
  }

  /** Takes it out again. */
  take(chat: string): Draft {
    const draft = this.drafts.take(place(chat));
    const left = new Set(this.waiting.peek());
    left.delete(chat);
    this.waiting.value = left;
    return draft;
  }

  takeUnsent(chat: string): Draft | undefined {
    const unsent = joined(this.take(chat), this.drafts.take(chat));
    return isEmpty(unsent) ? undefined : unsent;
  }

  putUnsent(chat: string, draft: Draft): void {
    this.drafts.change(chat, draft);
  }

  /** Asks now. quietly: not because a person has just said so. */
  send(chat: Chat, quietly = false): void {
    const { text, files } = this.take(chat.id);
    chat.ask(text, [...files], quietly);
  }
}

const place = (chat: string) => `next ${chat}`;

function joined(first: Draft, second: Draft): Draft {
  const text = [first.text, second.text].filter((part) => part !== "").join("\n\n");
  return { text, files: [...first.files, ...second.files] };
}

/** Whether the last answer is one that a person has to look at. */
function halted(chat: Chat): boolean {
  const { leaf } = chat.tree;
  return leaf !== undefined && (leaf.answer?.outcome?.reason === "error" || openCalls(leaf).length > 0);
}
