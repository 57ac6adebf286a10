// SPDX-License-Identifier: MIT
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Attachment } from "../../chats/message.ts";
import { visible, withoutControls } from "../../text/bidi.ts";
import { Icon } from "../icon.tsx";

interface Props {
  files: readonly Attachment[];
  onRemove?(file: Attachment): void;
}

/** The files of a question. Each can be opened. */
export function Files({ files, onRemove }: Props) {
  const opened = useSignal<Attachment | undefined>(undefined);
  if (files.length === 0) return null;
  return (
    <>
      <ul class="files" aria-label="Files">
        {files.map((file, at) => {
          const name = withoutControls(file.name);
          return (
            <li key={`${at} ${file.name}`}>
              <button
                type="button"
                class="name"
                title={`Open ${name}`}
                onClick={() => {
                  opened.value = file;
                }}
              >
                <Icon name="file" />
                <span>{name}</span>
                <small>{size(file.text.length)}</small>
              </button>
              {onRemove !== undefined && (
                <button
                  type="button"
                  aria-label={`Remove ${name}`}
                  title="Remove"
                  onClick={() => onRemove(file)}
                >
                  <Icon name="close" />
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {opened.value !== undefined && (
        <FileDialog
          file={opened.value}
          close={() => {
            opened.value = undefined;
          }}
        />
      )}
    </>
  );
}

/** The text of a file. */
function FileDialog({ file, close }: { file: Attachment; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const name = withoutControls(file.name);
  return (
    <dialog ref={dialog} class="file" aria-label={name} onClose={close}>
      <header>
        <h2>{name}</h2>
        <button
          type="button"
          class="quiet"
          aria-label="Close"
          title="Close (Esc)"
          onClick={() => dialog.current?.close()}
        >
          <Icon name="close" />
        </button>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys are to reach it */}
      <pre tabIndex={0}>
        {visible(file.text).map(({ text, control }) =>
          control ? <span class="control" data-name={control} /> : text,
        )}
      </pre>
    </dialog>
  );
}

function size(characters: number): string {
  return characters < 1024 ? `${characters} B` : `${Math.round(characters / 1024)} KB`;
}
