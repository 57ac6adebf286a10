// SPDX-License-Identifier: MIT

// Has the browser save a file that the page has made.

/** Saves a file, as a download of the browser. */
export function saveFile(name: string, type: string, parts: readonly string[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([...parts], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // once the browser has begun to read it
}
