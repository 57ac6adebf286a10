// SPDX-License-Identifier: MIT

// A sound that can be played.
import type { Medium } from "../../chats/message.ts";
import { withoutControls } from "../../text/bidi.ts";
import { duration } from "../../text/numberformat.ts";
import { useFileURL } from "./fileurl.ts";
import { MissingFile } from "./missingfile.tsx";

/** A sound, which can be played. */
export function SoundPlayer({ medium }: { medium: Medium }) {
  const url = useFileURL(medium.file);
  const name = withoutControls(medium.name);
  if (url === undefined) return <MissingFile name={name} />;
  return (
    <figure>
      <figcaption>
        <span>{name}</span>
        {medium.seconds !== undefined && <small>{duration(Math.round(medium.seconds * 10) * 100)}</small>}
      </figcaption>
      {/* biome-ignore lint/a11y/useMediaCaption: what a person adds has no captions */}
      {url !== "" && <audio src={url} controls preload="metadata" aria-label={name} />}
    </figure>
  );
}
