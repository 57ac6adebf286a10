// SPDX-License-Identifier: MIT

// A list of files: thumbnails, sounds and texts.
import "../../style/files.css";
import { useSignal } from "@preact/signals";
import { type Attachment, type DocumentParts, isMedium, type TextFile } from "../../chats/message.ts";
import { t, tn } from "../../language/language.ts";
import { isPicture } from "../../media/medialimits.ts";
import { withoutControls } from "../../text/bidi.ts";
import { tokens } from "../../text/tokenestimate.ts";
import { Icon } from "../icon.tsx";
import { Gallery } from "./gallery.tsx";
import { SoundPlayer } from "./soundplayer.tsx";
import { TextDialog } from "./textdialog.tsx";
import { Thumbnail } from "./thumbnail.tsx";

export interface FilesProps {
  files: readonly Attachment[];
  onRemove?(file: Attachment): void;
}

/** The files of a question: pictures in small, sounds to be played, and texts to be opened. */
export function FileList({ files, onRemove }: FilesProps) {
  const opened = useSignal<Attachment | undefined>(undefined);
  const pictures = files.filter(isMedium).filter(isPicture);
  const close = () => {
    opened.value = undefined;
  };
  const open = (file: Attachment) => {
    opened.value = file;
  };
  const file = opened.value;
  return (
    <>
      <ul class="files" aria-label={t("Files")}>
        {files.map((file, at) => (
          <Entry key={`${at} ${file.name}`} file={file} open={open} onRemove={onRemove} />
        ))}
      </ul>
      {file !== undefined && !isMedium(file) && <TextDialog file={file} close={close} />}
      {file !== undefined && isMedium(file) && <Gallery pictures={pictures} first={file} close={close} />}
    </>
  );
}

interface EntryProps {
  file: Attachment;
  onRemove: FilesProps["onRemove"];
  open(file: Attachment): void;
}

function Entry({ file, open, onRemove }: EntryProps) {
  const name = withoutControls(file.name);
  const kind = !isMedium(file) ? "text" : isPicture(file) ? "picture" : "sound";
  return (
    <li data-kind={kind}>
      {!isMedium(file) && (
        <button type="button" class="name" title={t("Open {name}", { name })} onClick={() => open(file)}>
          <Icon name="file" />
          <span>{name}</span>
          <small>{size(file)}</small>
        </button>
      )}
      {isMedium(file) && kind === "picture" && <Thumbnail medium={file} open={() => open(file)} />}
      {isMedium(file) && kind === "sound" && <SoundPlayer medium={file} />}
      {onRemove !== undefined && (
        <button
          type="button"
          class="remove"
          aria-label={t("Remove {name}", { name })}
          title={t("Remove")}
          onClick={() => onRemove(file)}
        >
          <Icon name="close" />
        </button>
      )}
    </li>
  );
}

/** How much a text is: of a document, what of the model's context it takes. */
function size({ text, parts }: TextFile): string {
  if (parts !== undefined) return `${partWords(parts)} · ${tokens(text)}`;
  return text.length < 1024 ? `${text.length} B` : `${Math.round(text.length / 1024)} KB`;
}

function partWords({ unit, count }: DocumentParts): string {
  switch (unit) {
    case "page":
      return tn(count, "{n} page", "{n} pages");
    case "slide":
      return tn(count, "{n} slide", "{n} slides");
    case "sheet":
      return tn(count, "{n} sheet", "{n} sheets");
  }
}
