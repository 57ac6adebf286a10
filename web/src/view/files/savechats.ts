// SPDX-License-Identifier: MIT

// Saves chats as an archive, one as a transcript, or one as another.
import type { App } from "../../app.ts";
import { renamed, writeArchive } from "../../chats/archive.ts";
import type { WholeChat } from "../../chats/chats.ts";
import { type Medium, type Message, mediaOf, stopped } from "../../chats/message.ts";
import { MessageTree } from "../../chats/messagetree.ts";
import { transcript } from "../../chats/transcript.ts";
import { t } from "../../language/language.ts";
import { dataURL } from "../../media/dataurl.ts";
import { eachOnce, isPicture } from "../../media/medialimits.ts";
import type { Piece } from "../../trace/tokenitems.ts";
import { saveFile } from "../savefile.ts";

/** Saves chats as a file that can be imported. */
export async function saveArchive(app: App, ids: readonly string[], name: string): Promise<void> {
  if (ids.length === 0) {
    app.notice.value = t("There is no chat to export.");
    return;
  }
  saveFile(
    `${fileName(name)}.json`,
    "application/json",
    await writeArchive(whole(app, ids), (file) => app.store.file(file)),
  );
}

/** Saves what is shown of a chat as a text for people. */
export async function saveTranscript(app: App, id: string): Promise<void> {
  const shown = await shownOf(app, id, isPicture);
  if (shown === undefined) return;
  const { title, messages, urls } = shown;
  saveFile(`${fileName(title)}.md`, "text/markdown", [transcript(title, messages, urls)]);
}

/** Saves what is shown of a chat as a page of its own, with how its tokens were chosen. */
export async function saveStandalone(app: App, id: string): Promise<void> {
  const shown = await shownOf(app, id);
  if (shown === undefined) return;
  const { standalonePage } = await import("../../chats/standalonepage.ts");
  const pieces = new Map<string, readonly Piece[]>();
  for (const message of shown.messages) {
    const { id, role } = message;
    if (role === "assistant") pieces.set(id, await app.traces.pieces(id));
  }
  saveFile(`${fileName(shown.title)}.html`, "text/html", [standalonePage({ ...shown, pieces })]);
}

/** Makes another chat of all that a chat has now, and shows that. */
export async function duplicateChat(app: App, id: string): Promise<void> {
  const chat = await app.chats.whole(id);
  if (chat === undefined) return;
  const { pinned: _, ...info } = chat.info;
  const now = Date.now();
  const whole = { info: { ...info, created: now, changed: now }, messages: chat.messages.map(stopped) };
  const copy = renamed(whole, () => true);
  await app.chats.add(copy);
  await app.chats.show(copy.info.id);
  app.view.value = "chat";
  app.layout.chosen();
}

/** What is shown of a chat, with the bytes of its pictures and sounds, if wanted, as data: URLs. */
async function shownOf(app: App, id: string, wanted: (medium: Medium) => boolean = () => true) {
  const chat = await app.chats.whole(id);
  if (chat === undefined) return undefined;
  const tree = new MessageTree(chat.messages);
  tree.branches.value = chat.info.branches;
  const messages: Message[] = tree.path.value.map((message) => tree.node(message).value);
  const urls = new Map<string, string>();
  for (const { file } of eachOnce(mediaOf(messages).filter(wanted))) {
    const bytes = await app.store.file(file);
    if (bytes !== undefined) urls.set(file, await dataURL(bytes));
  }
  return { title: chat.info.title, messages, urls };
}

async function* whole(app: App, ids: readonly string[]): AsyncGenerator<WholeChat> {
  for (const id of ids) {
    const chat = await app.chats.whole(id);
    if (chat !== undefined) yield chat;
  }
}

function fileName(title: string): string {
  const plain = title.replace(/[^\p{L}\p{N} _-]+/gu, " ").replace(/\s+/g, " ");
  return `penstock ${plain.trim().slice(0, 60)}`.trim();
}
