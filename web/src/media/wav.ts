// SPDX-License-Identifier: MIT

// Writes WAV files.

const headerLength = 44; // bytes

/** A sound of one channel as a WAV file with 16 bits a sample. Samples beyond -1 to 1 are cut. */
export function encodeWAV(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(headerLength + 2 * samples.length);
  const view = new DataView(file.buffer);
  const text = (at: number, word: string) => file.set(new TextEncoder().encode(word), at);
  text(0, "RIFF");
  view.setUint32(4, file.length - 8, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); // bytes of the format
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true); // bytes a second
  view.setUint16(32, 2, true); // bytes of a sample of all channels
  view.setUint16(34, 16, true); // bits of a sample
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  for (const [at, sample] of samples.entries())
    view.setInt16(headerLength + 2 * at, Math.round(32767 * Math.max(-1, Math.min(1, sample))), true);
  return file;
}

/** The mean of channels. All have one length. */
export function mixed(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(), ...others] = channels;
  if (others.length === 0) return first;
  return first.map(
    (sample, at) => others.reduce((sum, channel) => sum + (channel[at] ?? 0), sample) / channels.length,
  );
}
