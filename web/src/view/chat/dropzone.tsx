// SPDX-License-Identifier: MIT

// Takes files that are dropped on the page.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../../language/language.ts";

/** Takes files that are dropped anywhere on the page while the chat is shown. */
export function DropZone({ onFiles }: { onFiles(files: File[]): void }) {
  const over = useSignal(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    const drag = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // else the browser opens the file instead of the page
      over.value = true;
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) over.value = false;
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      over.value = false;
      if (event.defaultPrevented) return; // something else took them, such as the list of chats an export
      event.preventDefault();
      onFiles([...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener("dragover", drag);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", drag);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, [onFiles, over]);
  return over.value ? <p class="drop">{t("Drop files to add them to your message")}</p> : null;
}
