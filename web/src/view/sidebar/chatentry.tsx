// SPDX-License-Identifier: MIT

// One chat of the sidebar's list.
import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import type { ChatInfo } from "../../chats/chatinfo.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { onEscape } from "../escape.ts";
import { withFiles } from "../files/withfiles.ts";
import { Icon } from "../icon.tsx";
import { Menu } from "../menu.tsx";
import { offerBack } from "./offerback.ts";

/** One chat of the list. F2 renames it, Delete deletes it. */
export function ChatEntry({ chat }: { chat: ChatInfo }) {
  const app = useApp();
  const editing = useSignal<"title" | "folder" | undefined>(undefined);
  const { id, pinned, folder } = chat;
  const shown = useComputed(() => app.view.value === "chat" && app.chats.current.value.id === id);
  const runs = useComputed(() => app.chats.running.value.has(id));
  const rename = () => {
    editing.value = "title";
  };
  const remove = () => void removeChat(app, id);
  const keys: Record<string, () => void> = { F2: rename, Delete: remove };
  if (editing.value !== undefined)
    return <EntryField chat={chat} field={editing.value} done={() => (editing.value = undefined)} />;
  return (
    <li class="entry">
      <a
        href={`#/chat/${id}`}
        title={chat.title}
        aria-current={shown.value ? "page" : undefined}
        onClick={() => app.layout.chosen()}
        onDblClick={rename}
        onKeyDown={(event) => {
          if (event.key === "Delete") focusNext(event.currentTarget);
          keys[event.key]?.();
        }}
      >
        {runs.value && <span class="runs" role="img" aria-label={t("Answering")} />}
        <span class="name" dir="auto">
          {chat.title}
        </span>
      </a>
      <Menu
        label={t("Actions for {title}", { title: chat.title })}
        items={[
          { name: t("Rename"), run: rename },
          {
            name: pinned ? t("Unpin") : t("Pin"),
            run: () => void app.chats.file(id, { ...(!pinned && { pinned: true }), ...inFolder(folder) }),
          },
          {
            name: folder === undefined ? t("Put into a folder") : t("Change the folder"),
            run: () => (editing.value = "folder"),
          },
          { name: t("Duplicate"), run: () => void withFiles(app, (files) => files.duplicateChat(app, id)) },
          {
            name: t("Export as Markdown"),
            run: () => void withFiles(app, (files) => files.saveTranscript(app, id)),
          },
          {
            name: t("Export as HTML"),
            run: () => void withFiles(app, (files) => files.saveStandalone(app, id)),
          },
          {
            name: t("Export as JSON"),
            run: () => void withFiles(app, (files) => files.saveArchive(app, [id], chat.title)),
          },
          { name: t("Delete"), danger: true, run: remove },
        ]}
      >
        <Icon name="more" />
      </Menu>
    </li>
  );
}

const inFolder = (folder: string | undefined) => (folder === undefined ? {} : { folder });

interface EntryFieldProps {
  chat: ChatInfo;
  field: "title" | "folder";
  done(): void;
}

/** The field in the place of a chat, for its name or for the name of its folder. */
function EntryField({ chat, field: name, done }: EntryFieldProps) {
  const { chats } = useApp();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const keep = async (value: string) => {
    if (name === "title") await chats.rename(chat.id, value);
    else await chats.file(chat.id, { ...(chat.pinned && { pinned: true }), folder: value });
  };
  const finish = async (kept: boolean) => {
    if (field.current === null) return; // it is gone, and loses the focus
    const focused = document.activeElement === field.current;
    const { value } = field.current;
    done();
    if (kept) await keep(value);
    if (focused) requestAnimationFrame(() => focusEntry(chat.id));
  };
  const folders = new Set(chats.list.value.flatMap(({ folder }) => folder ?? []));
  return (
    <li class="entry">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void finish(true);
        }}
      >
        <input
          ref={field}
          aria-label={name === "title" ? t("Name of the chat") : t("Folder of the chat")}
          placeholder={name === "title" ? undefined : t("Folder (empty: none)")}
          defaultValue={name === "title" ? chat.title : chat.folder}
          maxLength={name === "title" ? 200 : 60}
          list={name === "title" ? undefined : "folders"}
          onBlur={() => void finish(true)}
          onKeyDown={onEscape(() => void finish(false))}
        />
        {name === "folder" && (
          <datalist id="folders">
            {[...folders].map((folder) => (
              <option key={folder} value={folder} />
            ))}
          </datalist>
        )}
      </form>
    </li>
  );
}

/** Puts the focus on a chat of the list, wherever it stands now. */
function focusEntry(id: string): void {
  document.querySelector<HTMLElement>(`.entry > a[href="#/chat/${id}"]`)?.focus();
}

/** Puts the focus on the chat beside one that goes, or in the field for the search. */
function focusNext(link: HTMLElement): void {
  const links = [...document.querySelectorAll<HTMLElement>(".entry > a")];
  const at = links.indexOf(link);
  (links[at + 1] ?? links[at - 1] ?? document.getElementById("search"))?.focus();
}

/** Deletes a chat, and offers it back. */
async function removeChat(app: App, id: string): Promise<void> {
  const shown = app.chats.current.peek().id;
  const whole = await app.chats.remove(id);
  if (whole !== undefined)
    offerBack(app, [whole], t("“{title}” is deleted.", { title: whole.info.title }), shown);
}
