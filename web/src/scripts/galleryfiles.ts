// SPDX-License-Identifier: MIT

// The files of the gallery, as they were when the page was built.
import { type GalleryScript, galleryScript } from "./gallery.ts";

const files = import.meta.glob<string>("../../../plugins/script/gallery/*.js", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** The scripts of the gallery. */
export const gallery: readonly GalleryScript[] = Object.entries(files).map(([file, text]) =>
  galleryScript(file, text),
);
