// SPDX-License-Identifier: MIT

// The gallery: scripts to begin with.
import { useRef } from "preact/hooks";
import { type GalleryScript, galleryScript } from "../../scripts/gallery.ts";

const files = import.meta.glob<string>("../../../../plugins/script/gallery/*.js", {
  query: "?raw",
  import: "default",
  eager: true,
});
const scripts = Object.entries(files).map(([file, text]) => galleryScript(file, text));

/** The scripts of the gallery, with a line about each. */
export function Gallery({ choose }: { choose(script: GalleryScript): void }) {
  const list = useRef<HTMLDetailsElement>(null);
  return (
    <details class="gallery" ref={list}>
      <summary>Gallery: {scripts.length} scripts to begin with</summary>
      <ul>
        {scripts.map((script) => (
          <li key={script.name}>
            <button
              type="button"
              onClick={() => {
                if (list.current !== null) list.current.open = false;
                choose(script);
              }}
            >
              <code>{script.name}</code>
              <small>{script.summary}</small>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
