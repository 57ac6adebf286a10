// SPDX-License-Identifier: MIT

// A small picture that can be opened.
import type { Medium } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { withoutControls } from "../../text/bidi.ts";
import { useFileURL } from "./fileurl.ts";
import { MissingFile } from "./missingfile.tsx";

/** A picture in small, which can be opened. */
export function Thumbnail({ medium, open }: { medium: Medium; open(): void }) {
  const url = useFileURL(medium.file);
  const name = withoutControls(medium.name);
  if (url === undefined) return <MissingFile name={name} />;
  return (
    <button type="button" class="thumbnail" title={t("Open {name}", { name })} onClick={open}>
      {url === "" ? (
        <span class="hidden">{name}</span>
      ) : (
        <img src={url} alt={name} width={medium.width} height={medium.height} decoding="async" />
      )}
    </button>
  );
}
