// SPDX-License-Identifier: MIT

// ZIP archives for tests.
import { deflateRawSync } from "node:zlib";

/** A ZIP archive of files, as small as the format allows. */
export function sampleZip(files: Record<string, string>): Blob {
  const [parts, list] = [[] as Buffer[], [] as Buffer[]];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const packed = deflateRawSync(text);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    list.push(entry, Buffer.from(name));
    parts.push(local, Buffer.from(name), packed);
    at += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt32LE(Buffer.concat(list).length, 12);
  end.writeUInt32LE(at, 16);
  return new Blob([new Uint8Array(Buffer.concat([...parts, ...list, end]))]);
}
