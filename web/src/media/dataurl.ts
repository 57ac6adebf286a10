// SPDX-License-Identifier: MIT

// data: URLs of files, and back.

const step = 0x6000; // bytes that are made letters at a time: a multiple of 3, so that base64 needs no padding between

/** The bytes of a file as a data: URL. */
export async function dataURL(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += step)
    parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + step))));
  return `data:${file.type};base64,${parts.join("")}`;
}

/** The bytes of a data: URL. Throws where it is none in base64. */
export function fromDataURL(url: string): Uint8Array<ArrayBuffer> {
  const comma = url.slice(0, 256).indexOf(",");
  if (!url.startsWith("data:") || !url.slice(0, Math.max(comma, 0)).endsWith(";base64"))
    throw new Error("it is no data: URL in base64"); // untranslated: nobody sees it
  const letters = atob(url.slice(comma + 1));
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}
