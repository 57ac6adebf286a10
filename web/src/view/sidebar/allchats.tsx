// SPDX-License-Identifier: MIT

// What can be done with all chats: import, export, titles and deleting.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { withFiles } from "../files/withfiles.ts";
import { Icon } from "../icon.tsx";
import { Lazy } from "../lazy.tsx";
import { Menu } from "../menu.tsx";
import { helpShown, paletteShown } from "../shortcuts/shown.ts";

const deleteAll = async () => ({ default: (await import("./deleteall.tsx")).DeleteAll });

/** What can be done with all chats. */
export function AllChats() {
  const app = useApp();
  const { titles } = app.layout.preferences;
  const deleting = useSignal(false);
  const close = () => {
    deleting.value = false;
  };
  const picker = useRef<HTMLInputElement>(null);
  const all = app.chats.list.value.map((chat) => chat.id);
  const items = [
    { name: t("Import chats…"), run: () => picker.current?.click() },
    {
      name: t("Export all chats"),
      run: () => void withFiles(app, (files) => files.saveArchive(app, all, "chats")),
    },
    {
      name: t("Titles by the model"),
      checked: titles.value,
      run: () => (titles.value = !titles.peek()),
    },
    ...(app.keeper.key === "" ? [] : [{ name: t("Forget the API key"), run: () => forgetKey(app) }]),
    { name: t("Find chats and commands"), run: () => (paletteShown.value = true) },
    { name: t("Keyboard shortcuts"), run: () => (helpShown.value = true) },
    ...(all.length === 0
      ? []
      : [{ name: t("Delete all chats…"), danger: true, run: () => (deleting.value = true) }]),
  ];
  return (
    <>
      <input
        ref={picker}
        type="file"
        accept=".json,.zip,application/json,application/zip"
        multiple
        hidden
        aria-label={t("Import chats")}
        onChange={async ({ currentTarget: input }) => {
          const picked = [...(input.files ?? [])];
          await withFiles(app, ({ importArchives }) => importArchives(app, picked));
          input.value = "";
        }}
      />
      <Menu label={t("More")} items={items}>
        <Icon name="more" />
      </Menu>
      {deleting.value && <Lazy load={deleteAll} with={{ close }} />}
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
      const dropped = [...event.dataTransfer.files];
      void withFiles(app, ({ importArchives }) => importArchives(app, dropped));
    },
  };
}
