// SPDX-License-Identifier: MIT
import { useRef } from "preact/hooks";
import { type App, useApp } from "../../app.ts";
import { writeArchive } from "../../chats/archive.ts";
import type { WholeChat } from "../../chats/chats.ts";
import { importChats } from "../../chats/importing.ts";
import { transcript } from "../../chats/transcript.ts";
import { Tree } from "../../chats/tree.ts";
import { Icon } from "../icon.tsx";
import { Menu } from "../menu.tsx";
import { helpShown } from "../shortcuts/help.tsx";

/** What can be done with all chats. */
export function AllChats() {
  const app = useApp();
  const picker = useRef<HTMLInputElement>(null);
  const all = app.chats.list.value.map((chat) => chat.id);
  const items = [
    { name: "Import chats…", run: () => picker.current?.click() },
    { name: "Export all chats", run: () => void saveArchive(app, all, "chats") },
    ...(app.keeper.key === "" ? [] : [{ name: "Forget the API key", run: () => forgetKey(app) }]),
    { name: "Keyboard shortcuts", run: () => (helpShown.value = true) },
  ];
  return (
    <>
      <input
        ref={picker}
        type="file"
        accept=".json,application/json"
        multiple
        hidden
        aria-label="Import chats"
        onChange={async ({ currentTarget: input }) => {
          await takeFiles(app, [...(input.files ?? [])]);
          input.value = "";
        }}
      />
      <Menu label="More" items={items}>
        <Icon name="more" />
      </Menu>
    </>
  );
}

/** The host then asks for one again. */
function forgetKey(app: App): void {
  app.keeper.key = "";
  location.reload();
}

/** What an element needs so that archives can be dropped on it. */
export function useDrop() {
  const app = useApp();
  return {
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      void takeFiles(app, [...event.dataTransfer.files]);
    },
  };
}

/** Imports archives, and tells how that went. */
async function takeFiles(app: App, files: readonly File[]): Promise<void> {
  let count = 0;
  const problems: string[] = [];
  for (const file of files) {
    app.notice.value = `Reading ${file.name}…`;
    try {
      count += await importChats(file, app.chats);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const done = count === 1 ? "1 chat is imported." : `${count} chats are imported.`;
  app.notice.value = [...(count > 0 || problems.length === 0 ? [done] : []), ...problems].join(" ");
}

/** Saves chats as a file that can be imported. */
export async function saveArchive(app: App, ids: readonly string[], name: string): Promise<void> {
  if (ids.length === 0) {
    app.notice.value = "There is no chat to export.";
    return;
  }
  save(`${fileName(name)}.json`, "application/json", await writeArchive(whole(app, ids)));
}

/** Saves what is shown of a chat as a text for people. */
export async function saveTranscript(app: App, id: string): Promise<void> {
  const chat = await app.chats.whole(id);
  if (chat === undefined) return;
  const tree = new Tree(chat.messages);
  tree.branches.value = chat.info.branches;
  const shown = tree.path.value.map((message) => tree.node(message).value);
  save(`${fileName(chat.info.title)}.md`, "text/markdown", [transcript(chat.info.title, shown)]);
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

function save(name: string, type: string, parts: readonly string[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([...parts], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // once the browser has begun to read it
}
