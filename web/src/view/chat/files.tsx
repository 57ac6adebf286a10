// SPDX-License-Identifier: MIT
import type { Attachment } from "../../chats/message.ts";
import { withoutControls } from "../../text/bidi.ts";
import { Icon } from "../icon.tsx";

interface Props {
  files: readonly Attachment[];
  onRemove?(file: Attachment): void;
}

/** The files of a question. */
export function Files({ files, onRemove }: Props) {
  if (files.length === 0) return null;
  return (
    <ul class="files" aria-label="Files">
      {files.map((file, at) => {
        const name = withoutControls(file.name);
        return (
          <li key={`${at} ${file.name}`}>
            <Icon name="file" />
            <span title={name}>{name}</span>
            <small>{size(file.text.length)}</small>
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
  );
}

function size(characters: number): string {
  return characters < 1024 ? `${characters} B` : `${Math.round(characters / 1024)} KB`;
}
