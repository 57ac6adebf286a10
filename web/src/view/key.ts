// SPDX-License-Identifier: MIT
import type { Connection } from "../connection.ts";
import type { Keeper } from "../settings.ts";
import { byId } from "./dom.ts";

/** Asks for an API key when the host wants one. */
export function showKeyDialog(connection: Connection, keeper: Keeper): void {
  const dialog = byId("key-dialog", HTMLDialogElement);
  const form = dialog.querySelector("form") as HTMLFormElement;
  const field = form.elements.namedItem("key") as HTMLInputElement;

  connection.changes.listen((status) => {
    if (status.kind !== "locked") return;
    byId("key-refused", HTMLElement).hidden = keeper.key() === "";
    if (!dialog.open) dialog.showModal();
  });
  form.addEventListener("submit", () => {
    keeper.keepKey(field.value.trim());
    field.value = "";
    void connection.connect();
  });
  // Without a key nothing works, so Escape must not leave a page that only looks alive.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
}
