// SPDX-License-Identifier: MIT

// The files that chats are exported to and imported from.
import { t } from "../language/language.ts";
import { dataURL, fromDataURL } from "../media/dataurl.ts";
import { typeOf } from "../media/mediatype.ts";
import { sha256 } from "../media/sha256.ts";
import { asExported, asImported } from "../settings/settings.ts";
import type { WholeChat } from "./chats.ts";
import { cleanChat, cleanMessage, cleanTree } from "./cleanchat.ts";
import { readForeign } from "./foreignchats.ts";
import { type Attachment, isMedium, type Message, mediaOf, newID, stopped } from "./message.ts";
import { isZip, unzip } from "./zip.ts";

const kind = "chats";
const version = 2; // that of archives with pictures and sounds; those without are of version 1
const largest = 500 * 2 ** 20; // bytes; a browser makes no text much longer than that

/** A file that is no archive of chats. The message says what is wrong with it. */
export class ArchiveError extends Error {}

/**
 * The text of an archive, in parts: one text of it all may be too long. read gets the bytes of
 * pictures and sounds, which stand there once each.
 */
export async function writeArchive(
  chats: AsyncIterable<WholeChat> | Iterable<WholeChat>,
  read: (file: string) => Promise<Blob | undefined>,
): Promise<string[]> {
  const head = JSON.stringify({ penstock: kind, exported: new Date().toISOString() });
  const parts = [`${head.slice(0, -1)},"chats":[`];
  const media = new Set<string>();
  for await (const { info, messages } of chats) {
    parts.push(
      parts.length > 1 ? ",\n" : "\n",
      JSON.stringify({ ...info, settings: asExported(info.settings), messages }),
    );
    for (const { file } of mediaOf(messages)) media.add(file);
  }
  const files: string[] = [];
  for (const file of media) {
    const bytes = await read(file);
    if (bytes !== undefined)
      files.push(files.length > 0 ? ",\n" : "\n", JSON.stringify(await dataURL(bytes)));
  }
  if (files.length > 0) parts.push('\n],"files":[', ...files);
  return [...parts, `\n],"version":${files.length > 0 ? version : 1}}\n`];
}

/** The files of chats in a ZIP archive, as ChatGPT packs them, and LM Studio's if somebody does. */
const chatFiles = /(^|\/)(conversations[-\w]*|[^/]*\.conversation)\.json$/;

/**
 * Reads an export of this page or of another program, or the chats of a ZIP archive. Throws an
 * ArchiveError that names what is wrong. Pictures and sounds whose bytes it has not are left out.
 */
export async function readArchive(file: Blob): Promise<WholeChat[]> {
  if (file.size > largest) throw new ArchiveError(t("it is larger than {n} MiB", { n: largest / 2 ** 20 }));
  if (!(await isZip(file))) return readChats(file);
  const packed = await unzip(file, chatFiles, largest).catch((error) => {
    throw new ArchiveError(error instanceof Error ? error.message : String(error));
  });
  if (packed.length === 0)
    throw new ArchiveError(
      t("it has no conversations.json: unpack it, and import the files that hold the chats"),
    );
  const chats: WholeChat[] = [];
  for (const { content } of packed) for (const chat of await readChats(content)) chats.push(chat);
  return chats;
}

async function readChats(file: Blob): Promise<WholeChat[]> {
  const value = parse(await file.text());
  const foreign = readForeign(value);
  if (foreign !== undefined) return foreign;
  const archive = object(value, t("the file"));
  if (archive.penstock !== kind)
    throw new ArchiveError(
      t("neither Penstock, ChatGPT, Open WebUI, llama-server nor LM Studio writes such a file"),
    );
  if (typeof archive.version !== "number") throw new ArchiveError(t("version is missing"));
  if (archive.version > version)
    throw new ArchiveError(
      t("a newer Penstock wrote it, in version {version}", { version: archive.version }),
    );
  const files = new Map<string, Blob>();
  for (const [at, url] of array(archive.files ?? [], "files").entries()) {
    const bytes = bytesOf(url, `files[${at}]`);
    files.set(sha256(bytes), new Blob([bytes], { type: typeOf(bytes) ?? "" }));
  }
  return array(archive.chats, "chats").map((chat, at) => withFiles(readChat(chat, `chats[${at}]`), files));
}

/**
 * A chat with those of its files that are there: what a file is, its bytes say, and not who wrote
 * the archive.
 */
function withFiles({ info, messages }: WholeChat, all: ReadonlyMap<string, Blob>): WholeChat {
  const files = new Map<string, Blob>();
  const found = (file: Attachment): Attachment[] => {
    if (!isMedium(file)) return [file];
    const bytes = all.get(file.file);
    if (bytes === undefined || bytes.type === "") return [];
    files.set(file.file, bytes);
    return [{ ...file, type: bytes.type, size: bytes.size }];
  };
  const read = messages.map((message) => {
    const { files: named, ...rest } = message;
    const kept = (named ?? []).flatMap(found);
    return kept.length > 0 ? { ...rest, files: kept } : rest;
  });
  return files.size > 0 ? { info, messages: read, files } : { info, messages: read };
}

function bytesOf(url: unknown, where: string): Uint8Array<ArrayBuffer> {
  try {
    if (typeof url === "string") return fromDataURL(url);
  } catch {
    // said below
  }
  throw new ArchiveError(t("{where} must be a data: URL in base64", { where }));
}

/**
 * The chat under names of its own: those of its messages, so that none of another chat is
 * overwritten, and its own if there is one.
 */
export function renamed({ info, messages, ...rest }: WholeChat, taken: (id: string) => boolean): WholeChat {
  const copy = taken(info.id);
  const id = copy ? newID() : info.id;
  const ids = new Map(messages.map((message) => [message.id, newID()]));
  const branches: Record<string, string> = {};
  for (const [parent, child] of Object.entries(info.branches)) {
    const [above, below] = [parent === "" ? "" : ids.get(parent), ids.get(child)];
    if (above !== undefined && below !== undefined) branches[above] = below;
  }
  return {
    ...rest,
    info: {
      ...info,
      id,
      title: copy ? t("{title} (copy)", { title: info.title }) : info.title,
      branches,
    },
    messages: messages.map((message) => ({
      ...message,
      id: ids.get(message.id) ?? newID(),
      chat: id,
      parent: message.parent === null ? null : (ids.get(message.parent) ?? null),
    })),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ArchiveError(
      t("it is no JSON: {problem}", { problem: error instanceof Error ? error.message : `${error}` }),
    );
  }
}

function readChat(value: unknown, where: string): WholeChat {
  const raw = object(value, where);
  const info = cleanChat(raw);
  if (info === undefined) throw unnamed(where);
  const seen = new Set<string>();
  const messages = array(raw.messages, `${where}.messages`).map((message, at) =>
    readMessage(message, info.id, seen, `${where}.messages[${at}]`),
  );
  if (messages.length === 0) throw new ArchiveError(t("{where}.messages is empty", { where }));
  return { info: { ...info, settings: asImported(info.settings) }, messages: cleanTree(messages) };
}

function readMessage(value: unknown, chat: string, seen: Set<string>, where: string): Message {
  const raw = object(value, where);
  if (raw.role !== "user" && raw.role !== "assistant") {
    throw new ArchiveError(t('{where}.role must be "user" or "assistant"', { where }));
  }
  if (typeof raw.content !== "string") throw new ArchiveError(t("{where}.content must be a text", { where }));
  const message = cleanMessage({ ...raw, chat });
  if (message === undefined) throw unnamed(where);
  if (seen.has(message.id)) throw new ArchiveError(t("{where}.id is that of an earlier message", { where }));
  seen.add(message.id);
  return stopped(message); // an answer that ran when it was exported cannot go on from a file
}

function unnamed(where: string): ArchiveError {
  return new ArchiveError(t("{where}.id is missing, or no name of letters and digits", { where }));
}

function object(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ArchiveError(t("{where} must be an object", { where }));
  }
  return value as Record<string, unknown>;
}

function array(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw new ArchiveError(t("{where} must be a list", { where }));
  return value;
}
