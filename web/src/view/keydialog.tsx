// SPDX-License-Identifier: MIT

// The dialog that asks for the API key.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../language/language.ts";
import { useApp } from "./appcontext.ts";
import { KeyField } from "./keyfield.tsx";

/** Asks for an API key when the host wants one. */
export function KeyDialog() {
  const { connection, keeper } = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  const key = useSignal("");
  useSignalEffect(() => {
    if (connection.status.value.kind === "locked" && dialog.current?.open === false)
      dialog.current.showModal();
  });
  const refused = connection.status.value.kind === "locked" && keeper.key !== "";
  const connect = () => {
    keeper.key = key.peek().trim();
    key.value = "";
    void connection.connect();
  };
  return (
    // Without a key nothing works, so Escape must not leave a page that only looks alive.
    <dialog
      id="key-dialog"
      aria-labelledby="key-title"
      ref={dialog}
      onCancel={(event) => event.preventDefault()}
    >
      <form method="dialog" onSubmit={connect}>
        <h2 id="key-title">{t("This server wants a key")}</h2>
        <p class="hint">
          {t("Ask whoever runs it. The key stays in this browser and goes to this server only.")}
        </p>
        <KeyField label={t("API key")} value={key} refused={refused} autocomplete="current-password" />
        <footer>
          <button type="submit" class="primary">
            {t("Connect")}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
