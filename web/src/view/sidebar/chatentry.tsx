// SPDX-License-Identifier: MIT

// One chat of the sidebar's list.
import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import type { ChatInfo } from "../../chats/chatinfo.ts";
import { useApp } from "../appcontext.ts";
import { onEscape } from "../escape.ts";
import { withFiles } from "../files/withfiles.ts";
import { Icon } from "../icon.tsx";
import { Menu } from "../menu.tsx";

/** One chat of the list. F2 renames it, Delete deletes it. */
export function ChatEntry({ chat }: { chat: ChatInfo }) {
  const app = useApp();
  const renaming = useSignal(false);
  const { id } = chat;
  const shown = useComputed(() => app.view.value === "chat" && app.chats.current.value.id === id);
  const runs = useComputed(() => app.chats.running.value.has(id));
  const rename = () => {
    renaming.value = true;
  };
  const remove = () => void removeChat(app, id);
  const keys: Record<string, () => void> = { F2: rename, Delete: remove };
  if (renaming.value) return <Rename chat={chat} done={() => (renaming.value = false)} />;
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
        {runs.value && <span class="runs" role="img" aria-label="Answering" />}
        <span class="name" dir="auto">
          {chat.title}
        </span>
      </a>
      <Menu
        label={`Actions for ${chat.title}`}
        items={[
          { name: "Rename", run: rename },
          {
            name: "Export as Markdown",
            run: () => void withFiles(app, (files) => files.saveTranscript(app, id)),
          },
          {
            name: "Export as JSON",
            run: () => void withFiles(app, (files) => files.saveArchive(app, [id], chat.title)),
          },
          { name: "Delete", danger: true, run: remove },
        ]}
      >
        <Icon name="more" />
      </Menu>
    </li>
  );
}

function Rename({ chat, done }: { chat: ChatInfo; done(): void }) {
  const { chats } = useApp();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const finish = (keep: boolean) => {
    const entry = field.current?.closest("li");
    const list = entry?.parentElement;
    const at = entry === null || entry === undefined ? -1 : [...(list?.children ?? [])].indexOf(entry);
    const focused = document.activeElement === field.current;
    if (keep && field.current !== null) void chats.rename(chat.id, field.current.value);
    done();
    if (focused) requestAnimationFrame(() => list?.children[at]?.querySelector("a")?.focus());
  };
  return (
    <li class="entry">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          finish(true);
        }}
      >
        <input
          ref={field}
          aria-label="Name of the chat"
          defaultValue={chat.title}
          maxLength={200}
          onBlur={() => finish(true)}
          onKeyDown={onEscape(() => finish(false))}
        />
      </form>
    </li>
  );
}

/** Puts the focus on the chat beside one that goes, or in the field for the search. */
function focusNext(link: HTMLElement): void {
  const links = [...document.querySelectorAll<HTMLElement>(".entry > a")];
  const at = links.indexOf(link);
  (links[at + 1] ?? links[at - 1] ?? document.getElementById("search"))?.focus();
}

/** Deletes a chat, and offers it back. */
async function removeChat(app: App, id: string): Promise<void> {
  const { chats } = app;
  const shown = chats.current.peek().id === id;
  const whole = await chats.remove(id);
  if (whole === undefined) return;
  app.offer.value = {
    text: `“${whole.info.title}” is deleted.`,
    action: "Undo",
    run: () =>
      void chats.add(whole).then(
        () => shown && void chats.show(id),
        (error) => {
          app.notice.value = `The chat could not be brought back: ${error}`;
        },
      ),
  };
}
