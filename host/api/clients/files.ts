// SPDX-License-Identifier: MIT
import { deflateSync } from "node:zlib";

/** A PNG of one colour. */
export function picture(red: number, green: number, blue: number, size = 64): Buffer {
  const line = Buffer.concat([Buffer.from([0]), Buffer.alloc(3 * size, Buffer.from([red, green, blue]))]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2], 8); // 8 bits, red, green and blue
  const pixels = deflateSync(Buffer.concat(Array<Buffer>(size).fill(line)));
  const parts = [chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...parts]);
}

function chunk(name: string, data: Buffer): Buffer {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(name, 4, "latin1");
  out.set(data, 8);
  out.writeUInt32BE(checksum(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
}

/** PNG's checksum, which Node.js 18 does not have. */
function checksum(data: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of data) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

/** A WAV of a second of one tone. */
export function sound(hertz: number, rate = 16000): Buffer {
  const samples = Buffer.alloc(2 * rate);
  for (let i = 0; i < rate; i++)
    samples.writeInt16LE(Math.round(9000 * Math.sin((2 * Math.PI * hertz * i) / rate)), 2 * i);
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // whole numbers
  header.writeUInt16LE(1, 22); // one channel
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(2 * rate, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}
