// SPDX-License-Identifier: MIT

// The files of a draft: adding, pasting and removing them.
import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals";
import type { App } from "../../app.ts";
import type { AttachContext } from "../../chats/attachments.ts";
import type { Chat } from "../../chats/chat.ts";
import { type Attachment, isMedium, type Medium, mediaOf } from "../../chats/message.ts";
import { type MediaNotice, noticeOf } from "../../media/medianotice.ts";
import { useApp } from "../appcontext.ts";
import { focusField } from "./focus.ts";

export interface DraftFiles {
  problems: Signal<readonly string[]>; // why files were not added
  reading: Signal<number>; // files that are being read
  recording: Signal<boolean>;
  notice: ReadonlySignal<MediaNotice | undefined>; // about the pictures and sounds of the draft and the chat
  model: ReadonlySignal<string>; // that would answer
  add(files: readonly File[]): Promise<void>;
  paste(event: ClipboardEvent): void; // adds the files that it has
  remove(file: Attachment): void;
}

/** The files of the draft at a place. */
export function useDraftFiles(chat: Chat, place: ReadonlySignal<string>): DraftFiles {
  const app = useApp();
  const { drafts } = app;
  const problems = useSignal<readonly string[]>([]);
  const reading = useSignal(0);
  const recording = useSignal(false);
  const model = useComputed(() => app.answering(chat.settings.value, true)); // which sees, where one does
  const notice = useComputed(() => {
    const draft = drafts.of(place.value).value.files.filter(isMedium);
    return noticeOf(model.value, app.abilitiesOf(model.value), draft, sentBefore(chat), app.mostBytes);
  });
  const of = (at: string) => drafts.of(at).peek().files;
  const attaching: DraftFiles = {
    problems,
    reading,
    recording,
    notice,
    model,
    paste(event) {
      const files = event.clipboardData?.files ?? [];
      if (files.length === 0) return;
      event.preventDefault();
      void attaching.add([...files]);
    },
    async add(picked) {
      const at = place.peek();
      if (reading.peek() === 0) problems.value = []; // else those of files that come with these stay
      reading.value += picked.length;
      try {
        const { attach } = await import("../files/filescode.ts");
        const { files, problems: refused } = await attach(picked, of(at), attachContextOf(app, chat));
        drafts.change(at, { files: [...of(at), ...files] });
        problems.value = [...problems.peek(), ...refused];
      } catch {
        const failed = "The files could not be read. If the server was updated meanwhile, reload the page.";
        problems.value = [...problems.peek(), failed];
      }
      reading.value -= picked.length;
      focusField();
    },
    remove(file) {
      const at = place.peek();
      drafts.change(at, { files: of(at).filter((other) => other !== file) });
      focusField();
    },
  };
  return attaching;
}

/** What decides whether a chat takes pictures and sounds now. */
export function attachContextOf(app: App, chat: Chat): AttachContext {
  const model = app.answering(chat.settings.peek(), true);
  return {
    model,
    abilities: app.abilitiesOf(model),
    sent: sentBefore(chat),
    most: app.mostBytes,
    hold: (file, bytes) => app.store.hold(file, bytes),
  };
}

/** The pictures and sounds that go with the next question of a chat. */
function sentBefore(chat: Chat): Medium[] {
  return mediaOf(chat.tree.path.value.map((id) => chat.tree.node(id).peek()));
}
