// SPDX-License-Identifier: MIT

// Tells the type of a picture or a sound by its first bytes.

/** The types of files that the host reads. */
export type MediaType =
  | "image/jpeg"
  | "image/png"
  | "image/gif"
  | "image/webp"
  | "image/bmp"
  | "audio/wav"
  | "audio/mpeg";

/** How many bytes at the beginning of a file typeOf looks at. */
export const headLength = 32;

/**
 * What a file is by its first bytes, whatever its name says; undefined: none that the host reads.
 */
export function typeOf(head: Uint8Array): MediaType | undefined {
  const text = String.fromCharCode(...head.subarray(0, headLength));
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (/^GIF8[79]a/.test(text)) return "image/gif";
  if (/^RIFF[\s\S]{4}WEBPVP8/.test(text)) return "image/webp";
  if (/^BM[\s\S]{4}\0\0\0\0/.test(text)) return "image/bmp";
  if (/^RIFF[\s\S]{4}WAVE/.test(text)) return "audio/wav";
  if (text.startsWith("ID3") || isMP3Frame(head)) return "audio/mpeg";
  return undefined;
}

/** Whether a picture of this type and head moves: the host refuses a WebP that does. */
export function isAnimatedWebP(head: Uint8Array): boolean {
  return String.fromCharCode(...head.subarray(12, 16)) === "VP8X" && ((head[20] ?? 0) & 2) !== 0;
}

/** The sync word of a frame of layer III, with a bit rate and a sample rate that exist. */
function isMP3Frame([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  const layer3 = first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  return layer3 && third >> 4 !== 0 && third >> 4 !== 15 && ((third >> 2) & 3) !== 3;
}
