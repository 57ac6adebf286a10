// SPDX-License-Identifier: MIT

// The dialog that asks for the admin key.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { AdminAccess } from "../host/adminaccess.ts";
import { AdminKey } from "../host/apikeys.ts";
import { t, tx } from "../language/language.ts";
import { CarefulStorage } from "../storage.ts";
import { KeyField } from "./keyfield.tsx";

/** What a person may do at the host with the admin key that this browser has, or is given. */
export function adminAccess(): AdminAccess {
  const key = new AdminKey(new CarefulStorage(() => sessionStorage), new CarefulStorage(() => localStorage));
  return new AdminAccess(key);
}

interface Props {
  admin: AdminAccess;
  changes: "models" | "plugins"; // what the key is wanted for
}

/** Asks for the admin key when the host wants it for what a person did. */
export function AdminDialog({ admin, changes }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const key = useSignal("");
  const remember = useSignal(false);
  const question = admin.question.value;
  useLayoutEffect(() => {
    if (question === undefined) dialog.current?.close();
    else if (dialog.current?.open === false) dialog.current.showModal();
  }, [question]);
  const answer = (given: string | undefined) => {
    key.value = "";
    question?.answer(given, remember.peek());
  };
  return (
    <dialog
      class="admin-key"
      aria-labelledby="admin-key-title"
      ref={dialog}
      onCancel={(event) => {
        event.preventDefault();
        answer(undefined);
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          answer(key.peek().trim());
        }}
      >
        <h2 id="admin-key-title">{t("Admin key")}</h2>
        <p class="hint">
          {changes === "models"
            ? tx(
                "To change the models of this server you need the key that it was started with ({option}).",
                {
                  option: <code>--admin-key</code>,
                },
              )
            : tx(
                "To change the plugins of this server you need the key that it was started with ({option}).",
                {
                  option: <code>--admin-key</code>,
                },
              )}
        </p>
        <KeyField
          label={t("Admin key")}
          value={key}
          refused={question?.refused === true}
          autocomplete="off"
        />
        <label class="check">
          <input
            type="checkbox"
            role="switch"
            class="switch"
            aria-checked={remember.value}
            checked={remember.value}
            onChange={(event) => {
              remember.value = event.currentTarget.checked;
            }}
          />
          <span>
            {t("Remember it in this browser")}
            <small>{t("Otherwise it is forgotten when this tab is closed.")}</small>
          </span>
        </label>
        <footer>
          <button type="button" class="quiet" onClick={() => answer(undefined)}>
            {t("Cancel")}
          </button>
          <button type="submit" class="primary">
            {t("dialog|Continue")}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
