// SPDX-License-Identifier: MIT

// Reads a sound, and makes it small enough to be sent.
import type { MediaType } from "./mediatype.ts";
import { encodeWAV, mixed } from "./wav.ts";

/** A sound as it is sent. */
export interface Sound {
  bytes: Blob;
  type: MediaType;
  seconds: number;
}

/** Samples a second of what the page encodes: what models hear with. */
export const soundRate = 16_000;

/** Bytes that a second of what the page encodes has. */
export const soundBytesPerSecond = 2 * soundRate;

const mostKept = 1 << 20; // bytes of a WAV that is sent as it is

/**
 * Makes a sound that the host reads: an MP3 and a small WAV are kept as they are, and another is
 * encoded anew as a WAV of one channel. type is what the host reads of it; undefined: only the
 * browser can. Rejects where the browser cannot read it.
 */
export async function readSound(file: Blob, type: MediaType | undefined): Promise<Sound> {
  const context = new OfflineAudioContext(1, 1, soundRate);
  const decoded = await context.decodeAudioData(await file.arrayBuffer()); // at the context's rate
  const seconds = decoded.duration;
  if (type === "audio/mpeg" || (type === "audio/wav" && file.size <= mostKept))
    return { bytes: new Blob([file], { type }), type, seconds };
  const channels = Array.from({ length: decoded.numberOfChannels }, (_, at) => decoded.getChannelData(at));
  const bytes = new Blob([encodeWAV(mixed(channels), soundRate)], { type: "audio/wav" });
  return { bytes, type: "audio/wav", seconds };
}
