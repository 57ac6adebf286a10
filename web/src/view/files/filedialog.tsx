// SPDX-License-Identifier: MIT

// The dialog in which a picture or a text is opened.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import { Icon } from "../icon.tsx";

interface Props {
  name: string; // of the file
  children: ComponentChildren;
  tools?: ComponentChildren; // buttons beside the name
  onKeyDown?(event: KeyboardEvent): void;
  close(): void;
}

/** A file in large. Escape closes it. */
export function FileDialog({ name, children, tools, onKeyDown, close }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="file" aria-label={name} onClose={close} onKeyDown={onKeyDown}>
      <header>
        <h2>{name}</h2>
        {tools}
        <button
          type="button"
          class="quiet"
          aria-label={t("Close")}
          title={t("Close (Esc)")}
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
