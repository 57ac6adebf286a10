// SPDX-License-Identifier: MIT

// The dialog that asks before all chats are deleted.
import { useLayoutEffect, useRef } from "preact/hooks";
import { t, tn } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { withFiles } from "../files/withfiles.ts";
import { offerBack } from "./offerback.ts";

/** Asks whether all chats are to be deleted, and deletes them. */
export function DeleteAll({ close }: { close(): void }) {
  const app = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const all = app.chats.list.value.map(({ id }) => id);
  const remove = async () => {
    const shown = app.chats.current.peek().id;
    close();
    const chats = await app.chats.removeAll();
    offerBack(app, chats, tn(chats.length, "{n} chat is deleted.", "{n} chats are deleted."), shown);
  };
  return (
    <dialog
      aria-labelledby="delete-all-title"
      aria-describedby="delete-all-about"
      ref={dialog}
      onClose={close}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void remove();
        }}
      >
        <h2 id="delete-all-title">{tn(all.length, "Delete the only chat?", "Delete all {n} chats?")}</h2>
        <p id="delete-all-about">
          {t(
            "Chats are kept in this browser only, pinned ones and those in folders too. Answers that are being written are stopped.",
          )}
        </p>
        <footer>
          <button type="button" class="quiet" autofocus onClick={close}>
            {t("Cancel")}
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => void withFiles(app, (files) => files.saveArchive(app, all, "chats"))}
          >
            {t("Export them first")}
          </button>
          <button type="submit" class="danger">
            {t("Delete")}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
