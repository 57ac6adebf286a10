// SPDX-License-Identifier: MIT

// Keeps chats in IndexedDB, or in memory where the browser has none.
import { type DBSchema, type IDBPDatabase, type IDBPTransaction, openDB } from "idb";
import { t } from "../language/language.ts";
import type { SmallStorage } from "../storage.ts";
import type { ChatInfo } from "./chatinfo.ts";
import { cleanChat, cleanMessage, cleanTree } from "./cleanchat.ts";
import { type Message, mediaOf } from "./message.ts";

/**
 * Where chats are kept. What is read is clean, whatever was written. Writing never throws: the
 * chat goes on without.
 */
export interface ChatStore {
  /** It lasts: what it was given is there at the next visit. */
  readonly lasts: boolean;
  chats(): Promise<ChatInfo[]>;
  messages(chat: string): Promise<Message[]>;
  /** undefined as well where writing fails: then what is in memory is newer. */
  message(id: string): Promise<Message | undefined>;
  /** The answers that ran when they were last written. */
  running(): Promise<Message[]>;
  keepChat(chat: ChatInfo): Promise<void>;
  keepMessage(message: Message): Promise<void>;
  removeMessages(ids: readonly string[]): Promise<void>;
  /** Writes a whole chat, or nothing of it. Unlike the others it throws if there is no room. */
  add(chat: ChatInfo, messages: readonly Message[]): Promise<void>;
  /** Deletes a chat with its messages. */
  remove(chat: string): Promise<void>;
  /**
   * Has the bytes of a picture or a sound ready; they are kept with the first message that has it.
   */
  hold(file: string, bytes: Blob): void;
  /** The bytes of a picture or a sound; undefined: they are not here. Never rejects. */
  file(file: string): Promise<Blob | undefined>;
  /**
   * Deletes the files that no message has. They stay until then, so that what was removed can be
   * put back.
   */
  sweep(): Promise<void>;
  /** The page is being left: what is not written yet is there at the next visit all the same. */
  leave(): void;
  /** Writes what was under way when pages were left: this one, shown again as it was, or others. */
  takeOver(): void;
}

interface Schema extends DBSchema {
  chats: { key: string; value: ChatInfo };
  messages: { key: string; value: Kept; indexes: { chat: string; stream: string; file: string } };
  files: { key: string; value: Blob }; // by their hash, so that each is there once
}

/** A message with the names of its files, by which the index finds it. */
type Kept = Message & { has?: string[] };

const stores = ["chats", "messages", "files"] as const;

type Change = IDBPTransaction<Schema, typeof stores, "readwrite">;

/** A step of a change of the stores: what is put, or what goes. */
type Write =
  | { put: "chat"; chat: ChatInfo }
  | { put: "message"; message: Message }
  | { remove: "messages"; ids: readonly string[] }
  | { remove: "chat"; id: string }
  | { remove: "files" }; // those that no message has

const unwritten = "penstock.unwritten"; // the writes that were under way when pages were left

/** The chats of this browser, in its IndexedDB. */
export class BrowserStore implements ChatStore {
  private failing = false;
  private turn: { writes: Write[]; written: Promise<void> } | undefined;
  private readonly held = new Map<string, Blob>(); // files that are not written yet
  private readonly underWay = new Set<Write>();

  private constructor(
    private readonly db: IDBPDatabase<Schema>,
    private readonly storage: SmallStorage,
    private readonly problem: (error: unknown) => void,
  ) {
    this.takeOver(); // before anything is read
  }

  /**
   * problem gets the first of the errors in writing. Throws where the browser has no IndexedDB, or
   * lends it to nobody.
   */
  static async open(
    storage: SmallStorage,
    problem: (error: unknown) => void,
    name = "penstock",
  ): Promise<BrowserStore> {
    const db = await openDB<Schema>(name, 2, {
      upgrade(db, before, _now, change) {
        if (before < 1) {
          db.createObjectStore("chats", { keyPath: "id" });
          const messages = db.createObjectStore("messages", { keyPath: "id" });
          messages.createIndex("chat", "chat");
          messages.createIndex("stream", "answer.stream"); // has only answers that run
        }
        db.createObjectStore("files");
        change.objectStore("messages").createIndex("file", "has", { multiEntry: true });
      },
      blocking: (_now, _wanted, event) => (event.target as IDBDatabase).close(), // a newer page in another tab
    });
    return new BrowserStore(db, storage, problem);
  }

  get lasts(): boolean {
    return !this.failing;
  }

  async chats(): Promise<ChatInfo[]> {
    return (await this.db.getAll("chats")).map(cleanChat).filter((chat) => chat !== undefined);
  }

  async messages(chat: string): Promise<Message[]> {
    return cleanTree(cleaned(await this.db.getAllFromIndex("messages", "chat", chat)));
  }

  async message(id: string): Promise<Message | undefined> {
    return this.failing ? undefined : cleanMessage(await this.db.get("messages", id));
  }

  async running(): Promise<Message[]> {
    return cleaned(await this.db.getAllFromIndex("messages", "stream"));
  }

  keepChat(chat: ChatInfo): Promise<void> {
    return this.soon({ put: "chat", chat });
  }

  keepMessage(message: Message): Promise<void> {
    return this.soon({ put: "message", message });
  }

  removeMessages(ids: readonly string[]): Promise<void> {
    return this.soon({ remove: "messages", ids });
  }

  async add(chat: ChatInfo, messages: readonly Message[]): Promise<void> {
    await this.write([
      { put: "chat", chat },
      ...messages.map((message): Write => ({ put: "message", message })),
    ]);
  }

  remove(chat: string): Promise<void> {
    return this.soon({ remove: "chat", id: chat });
  }

  hold(file: string, bytes: Blob): void {
    this.held.set(file, bytes);
  }

  async file(file: string): Promise<Blob | undefined> {
    return this.held.get(file) ?? (await this.db.get("files", file).catch(() => undefined));
  }

  sweep(): Promise<void> {
    return this.soon({ remove: "files" });
  }

  /**
   * A browser drops the changes that a page has under way when it leaves it, and finds no time for
   * new ones. Its small storage is written at once.
   */
  leave(): void {
    const writes = [...this.underWay, ...(this.turn?.writes ?? [])];
    if (writes.length === 0) return;
    this.storage.setItem(unwritten, JSON.stringify([...readWrites(this.storage), ...writes]));
  }

  takeOver(): void {
    if (this.failing) return; // another page may write it
    const writes = readWrites(this.storage);
    this.storage.removeItem(unwritten);
    for (const write of writes) void this.soon(write);
  }

  close(): void {
    this.db.close();
  }

  /**
   * Writes together with all else that this turn of the page writes, so that a reload finds a
   * question with the place of its answer, or neither. What goes wrong is told, not thrown: a
   * newer page in another tab may have taken the database, too.
   */
  private soon(write: Write): Promise<void> {
    if (this.turn === undefined) {
      const writes: Write[] = [];
      const flush = async () => {
        this.turn = undefined;
        await this.write(writes).catch((error) => this.fail(error));
      };
      this.turn = { writes, written: Promise.resolve().then(flush) };
    }
    this.turn.writes.push(write);
    return this.turn.written;
  }

  /** Does all the writes, or none. */
  private async write(writes: readonly Write[]): Promise<void> {
    for (const write of writes) this.underWay.add(write);
    try {
      const change = this.db.transaction(stores, "readwrite");
      await Promise.all([...writes.map((write) => this.perform(change, write)), change.done]);
    } finally {
      for (const write of writes) this.underWay.delete(write);
    }
  }

  private async perform(change: Change, write: Write): Promise<unknown> {
    const [chats, messages] = [change.objectStore("chats"), change.objectStore("messages")];
    if ("put" in write) return write.put === "chat" ? chats.put(write.chat) : this.put(change, write.message);
    switch (write.remove) {
      case "messages":
        return Promise.all(write.ids.map((id) => messages.delete(id)));
      case "chat": {
        const ids = await messages.index("chat").getAllKeys(write.id);
        return Promise.all([...ids.map((id) => messages.delete(id)), chats.delete(write.id)]);
      }
      case "files": {
        const files = change.objectStore("files");
        const users = messages.index("file");
        const unused = async (file: string) => (await users.count(file)) === 0 && files.delete(file);
        return Promise.all((await files.getAllKeys()).map(unused));
      }
    }
  }

  /** Puts a message with those of its files that are not written yet. */
  private async put(change: Change, message: Message): Promise<void> {
    const has = [...new Set(mediaOf([message]).map(({ file }) => file))];
    const fresh = has.flatMap((file) => {
      const bytes = this.held.get(file);
      return bytes === undefined ? [] : [change.objectStore("files").put(bytes, file)];
    });
    const kept: Kept = has.length > 0 ? { ...message, has } : message;
    await Promise.all([change.objectStore("messages").put(kept), ...fresh]);
    void change.done.then(
      () => {
        for (const file of has) this.held.delete(file);
      },
      () => {}, // told by who began the change; the files stay in memory
    );
  }

  private fail(error: unknown): void {
    if (!this.failing) this.problem(error);
    this.failing = true;
  }
}

/** Chats that are gone with the page, where the browser keeps nothing. */
export class MemoryStore implements ChatStore {
  readonly lasts = false;
  private readonly infos = new Map<string, ChatInfo>();
  private readonly texts = new Map<string, Message>();
  private readonly files = new Map<string, Blob>();

  async chats(): Promise<ChatInfo[]> {
    return [...this.infos.values()];
  }

  async messages(chat: string): Promise<Message[]> {
    return [...this.texts.values()].filter((message) => message.chat === chat);
  }

  async message(id: string): Promise<Message | undefined> {
    return this.texts.get(id);
  }

  async running(): Promise<Message[]> {
    return [];
  }

  async keepChat(chat: ChatInfo): Promise<void> {
    this.infos.set(chat.id, chat);
  }

  async keepMessage(message: Message): Promise<void> {
    this.texts.set(message.id, message);
  }

  async removeMessages(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.texts.delete(id);
  }

  async add(chat: ChatInfo, messages: readonly Message[]): Promise<void> {
    this.infos.set(chat.id, chat);
    for (const message of messages) this.texts.set(message.id, message);
  }

  async remove(chat: string): Promise<void> {
    this.infos.delete(chat);
    for (const message of await this.messages(chat)) this.texts.delete(message.id);
  }

  hold(file: string, bytes: Blob): void {
    this.files.set(file, bytes);
  }

  async file(file: string): Promise<Blob | undefined> {
    return this.files.get(file);
  }

  async sweep(): Promise<void> {} // drafts have files, too, and all goes with the page
  leave(): void {}
  takeOver(): void {}
}

/**
 * The best store that this browser has. tell gets a sentence for the reader if chats are not kept.
 */
export async function openChatStore(
  storage: SmallStorage,
  tell: (problem: string) => void,
): Promise<ChatStore> {
  try {
    return await BrowserStore.open(storage, (error) => tell(unkept(error)));
  } catch {
    tell(
      t("This browser keeps nothing for this page: chats are gone when it is closed. Export those you need."),
    );
    return new MemoryStore();
  }
}

function unkept(error: unknown): string {
  return error instanceof DOMException && error.name === "QuotaExceededError"
    ? t(
        "The browser has no room left: what is written from now on is gone when the page is closed. Delete chats, or export them.",
      )
    : t("The browser does not keep what is written from now on ({error}). Export the chats you need.", {
        error: `${error}`,
      });
}

/** The writes that pages left behind, those that are what they should be. */
function readWrites(storage: SmallStorage): Write[] {
  let writes: unknown;
  try {
    writes = JSON.parse(storage.getItem(unwritten) ?? "[]");
  } catch {
    return [];
  }
  return Array.isArray(writes) ? writes.map(cleanWrite).filter((write) => write !== undefined) : [];
}

function cleanWrite(write: Record<string, unknown> | null): Write | undefined {
  const [chat, message] = [cleanChat(write?.chat), cleanMessage(write?.message)];
  if (write?.put === "chat" && chat !== undefined) return { put: "chat", chat };
  if (write?.put === "message" && message !== undefined) return { put: "message", message };
  if (write?.remove === "chat" && typeof write.id === "string") return { remove: "chat", id: write.id };
  if (write?.remove === "messages" && Array.isArray(write.ids))
    return { remove: "messages", ids: write.ids.filter((id) => typeof id === "string") };
  return undefined; // unused files are looked for at each visit anyway
}

function cleaned(messages: readonly unknown[]): Message[] {
  return messages.map(cleanMessage).filter((message) => message !== undefined);
}
