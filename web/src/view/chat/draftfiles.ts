// SPDX-License-Identifier: MIT

// The files of a draft: adding, pasting and removing them.
import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import type { AttachContext, PDFChoice, PDFFacts } from "../../chats/attachments.ts";
import type { Chat } from "../../chats/chat.ts";
import { type Attachment, isMedium, type Medium, mediaOf } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { type MediaNotice, noticeOf } from "../../media/medianotice.ts";
import { useApp } from "../appcontext.ts";
import { withFiles } from "../files/withfiles.ts";
import { focusField } from "./focus.ts";

const longPaste = 8_000; // characters: more make a field slow, and hide what is asked
const offered = 100_000; // characters of a text that a field can have without standing still

const unread = t("The files could not be read. If the server was updated meanwhile, reload the page.");
const added = { text: t("The long text is added as a file."), action: t("Put it into the message") };

export interface DraftFiles {
  problems: Signal<readonly string[]>; // why files were not added
  reading: Signal<number>; // files that are being read
  recording: Signal<boolean>;
  choosing: Signal<PDFQuestion | undefined>; // what a person is asked of a PDF
  notice: ReadonlySignal<MediaNotice | undefined>; // about the pictures and sounds of the draft and the chat
  model: ReadonlySignal<string>; // that would answer
  add(files: readonly File[]): Promise<void>;
  paste(event: ClipboardEvent): void; // adds the files that it has, and a long text as one
  remove(file: Attachment): void;
}

/** What of a PDF is to be taken. */
export interface PDFQuestion {
  number: number; // each has another
  pdf: PDFFacts;
  answered: Promise<PDFChoice>;
  answer(choice: PDFChoice): void;
}

/** The files of the draft at a place. */
export function useDraftFiles(chat: Chat, place: ReadonlySignal<string>): DraftFiles {
  const app = useApp();
  const { drafts } = app;
  const problems = useSignal<readonly string[]>([]);
  const reading = useSignal(0);
  const recording = useSignal(false);
  const choosing = useSignal<PDFQuestion | undefined>(undefined);
  const gone = useRef(false);
  useEffect(
    () => () => {
      gone.current = true;
      choosing.peek()?.answer(undefined); // its dialog may not be loaded yet
    },
    [choosing],
  );
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
    choosing,
    notice,
    model,
    paste(event) {
      const files = event.clipboardData?.files ?? [];
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (files.length === 0 && text.length < longPaste) return;
      event.preventDefault();
      if (files.length > 0) void attaching.add([...files]);
      else void addText(text);
    },
    async add(picked) {
      const at = place.peek();
      if (reading.peek() === 0) problems.value = []; // else those of files that come with these stay
      reading.value += picked.length;
      try {
        const { attach } = await import("../files/filescode.ts");
        const { files, problems: refused } = await attach(picked, of(at), {
          ...attachContextOf(app, chat),
          choose: (pdf) => ask(choosing, pdf, gone),
        });
        if (at === "" || app.chats.has(at)) drafts.change(at, { files: [...of(at), ...files] }); // else it is deleted
        problems.value = [...problems.peek(), ...refused];
      } catch {
        problems.value = [...problems.peek(), unread];
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
  /** Adds a text as a file, and offers to have it in the message after all. */
  const addText = (text: string) =>
    withFiles(app, async ({ attachText }) => {
      const at = place.peek();
      const file = attachText(text, of(at));
      problems.value = typeof file === "string" ? [file] : [];
      if (typeof file === "string") return;
      drafts.change(at, { files: [...of(at), file] });
      focusField();
      if (text.length > offered) return;
      const run = () => {
        attaching.remove(file);
        drafts.change(at, { text: drafts.of(at).peek().text + text });
      };
      app.offer.value = { ...added, run };
    });
  return attaching;
}

let asked = 0;

/** Asks a person what of a PDF is to be taken, once those before it are answered. */
async function ask(
  choosing: Signal<PDFQuestion | undefined>,
  pdf: PDFFacts,
  gone: { readonly current: boolean },
): Promise<PDFChoice> {
  while (choosing.peek() !== undefined) await choosing.peek()?.answered;
  if (gone.current) return "text"; // nobody can be asked any more
  let resolve: (choice: PDFChoice) => void = () => {};
  const answered = new Promise<PDFChoice>((given) => {
    resolve = given;
  });
  const question: PDFQuestion = {
    number: ++asked,
    pdf,
    answered,
    answer(choice) {
      if (choosing.peek() === question) choosing.value = undefined;
      resolve(choice);
    },
  };
  choosing.value = question;
  return answered;
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
