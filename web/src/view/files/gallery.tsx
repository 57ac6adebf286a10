// SPDX-License-Identifier: MIT

// A picture in full size, and the way to the others of its message.
import { useSignal } from "@preact/signals";
import type { Medium } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { withoutControls } from "../../text/bidi.ts";
import { Icon } from "../icon.tsx";
import { FileDialog } from "./filedialog.tsx";
import { useFileURL } from "./fileurl.ts";
import { MissingFile } from "./missingfile.tsx";

interface Props {
  pictures: readonly Medium[];
  first: Medium;
  close(): void;
}

/** A picture in large. Buttons and arrow keys lead to the others of its message. */
export function Gallery({ pictures, first, close }: Props) {
  const at = useSignal(Math.max(0, pictures.indexOf(first)));
  const shown = pictures[at.value] ?? first;
  const several = pictures.length > 1;
  const step = (by: number) => {
    at.value = (at.peek() + by + pictures.length) % pictures.length;
  };
  const keys = ({ key }: KeyboardEvent) => {
    if (several && key === "ArrowLeft") step(-1);
    if (several && key === "ArrowRight") step(1);
  };
  const tools = several && (
    <>
      <button
        type="button"
        class="quiet"
        aria-label={t("Previous picture")}
        title={t("Previous (←)")}
        onClick={() => step(-1)}
      >
        <Icon name="left" />
      </button>
      <small aria-live="polite">{t("{n} of {all}", { n: at.value + 1, all: pictures.length })}</small>
      <button
        type="button"
        class="quiet"
        aria-label={t("Next picture")}
        title={t("Next (→)")}
        onClick={() => step(1)}
      >
        <Icon name="right" />
      </button>
    </>
  );
  return (
    <FileDialog name={withoutControls(shown.name)} tools={tools} onKeyDown={keys} close={close}>
      <Large key={shown.file} medium={shown} />
    </FileDialog>
  );
}

function Large({ medium }: { medium: Medium }) {
  const url = useFileURL(medium.file);
  const name = withoutControls(medium.name);
  if (url === undefined) return <MissingFile name={name} />;
  return url === "" ? null : (
    <img class="large" src={url} alt={name} width={medium.width} height={medium.height} />
  );
}
