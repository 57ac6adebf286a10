// SPDX-License-Identifier: MIT

// The gallery: scripts to begin with.
import { useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import type { GalleryScript } from "../../scripts/gallery.ts";
import { gallery } from "../../scripts/galleryfiles.ts";

/** The scripts of the gallery, with a line about each. */
export function Gallery({ choose }: { choose(script: GalleryScript): void }) {
  const list = useRef<HTMLDetailsElement>(null);
  return (
    <details class="gallery" ref={list}>
      <summary>{t("Gallery: {n} scripts to begin with", { n: gallery.length })}</summary>
      <ul>
        {gallery.map((script) => (
          <li key={script.name}>
            <button
              type="button"
              onClick={() => {
                if (list.current !== null) list.current.open = false;
                choose(script);
              }}
            >
              <code>{script.name}</code>
              <small>{summaryOf(script)}</small>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

function summaryOf({ summary }: GalleryScript): string {
  return t(summary); // untranslated: language.test.ts finds what the files say
}
