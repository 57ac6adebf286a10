// SPDX-License-Identifier: MIT

// Unpacks files of a ZIP archive, in the format of PKWARE's APPNOTE.TXT.
import { t } from "../language/language.ts";

const records = { end: 0x06054b50, entry: 0x02014b50, local: 0x04034b50 };
const endLength = 22; // bytes, without the comment
const longestComment = 0xffff;
const mostFiles = 4096; // that are unpacked
const mostListed = 0xffff; // as the format can count

/** Whether a file is a ZIP archive with something in it. */
export async function isZip(file: Blob): Promise<boolean> {
  if (file.size < endLength) return false;
  return (await view(file, 0, 4)).getUint32(0, true) === records.local;
}

/** A file of an archive. */
export interface Unpacked {
  name: string;
  content: Blob;
}

/**
 * The files whose names match, unpacked, of at most so many bytes together. Throws an Error that
 * says what is wrong with the archive.
 */
export async function unzip(file: Blob, wanted: RegExp, most: number): Promise<Unpacked[]> {
  const tail = await view(file, Math.max(0, file.size - endLength - longestComment), file.size);
  let end = tail.byteLength - endLength;
  while (end >= 0 && tail.getUint32(end, true) !== records.end) end--;
  if (end < 0) throw new Error(t("its end is missing"));
  const [size, start] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  if (start + size > file.size) throw new Error(t("it is cut off, or a ZIP archive of over 4 GB"));
  const list = await view(file, start, start + size);
  const files: Unpacked[] = [];
  let left = most;
  let packedLeft = file.size; // many entries could name the same bytes
  let listed = 0;
  for (let at = 0; at + 46 <= list.byteLength; ) {
    if (list.getUint32(at, true) !== records.entry) throw new Error(t("the list of its files is broken"));
    if (++listed > mostListed) throw new Error(t("it has too many files"));
    const [nameLength, extra, comment] = [28, 30, 32].map((field) => list.getUint16(at + field, true));
    const after = at + 46 + (nameLength ?? 0);
    if (after > list.byteLength) throw new Error(t("the list of its files is broken"));
    const name = new TextDecoder().decode(new Uint8Array(list.buffer, at + 46, nameLength));
    if (wanted.test(name)) {
      const packed = await packedBytes(file, list.getUint32(at + 42, true), list.getUint32(at + 20, true));
      packedLeft -= packed.size;
      if (packedLeft < 0) throw new Error(t("the list of its files is broken"));
      const content = await inflated(packed, list.getUint16(at + 10, true), name, left);
      left -= content.size;
      files.push({ name, content });
      if (files.length > mostFiles) throw new Error(t("it has too many files"));
    }
    at = after + (extra ?? 0) + (comment ?? 0);
  }
  return files;
}

/** The packed bytes of an entry. Before them its name and more stand once again. */
async function packedBytes(file: Blob, at: number, size: number): Promise<Blob> {
  if (at + 30 > file.size) throw new Error(t("it is cut off"));
  const head = await view(file, at, at + 30);
  if (head.getUint32(0, true) !== records.local) throw new Error(t("the list of its files is broken"));
  const begin = at + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  return file.slice(begin, begin + size);
}

async function inflated(packed: Blob, method: number, name: string, most: number): Promise<Blob> {
  if (method !== 0 && method !== 8)
    throw new Error(t("{name} is packed in a way that browsers do not know", { name }));
  const stream = packed.stream();
  const reader = (
    method === 0 ? stream : stream.pipeThrough(new DecompressionStream("deflate-raw"))
  ).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.byteLength;
    if (size > most) {
      await reader.cancel();
      throw new Error(t("{name} is too large when it is unpacked", { name }));
    }
    parts.push(part.value);
  }
  return new Blob(parts);
}

async function view(file: Blob, from: number, to: number): Promise<DataView<ArrayBuffer>> {
  return new DataView(await file.slice(from, to).arrayBuffer());
}
