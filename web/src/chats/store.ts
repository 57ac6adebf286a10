// SPDX-License-Identifier: MIT
import { type DBSchema, type IDBPDatabase, type IDBPTransaction, openDB } from "idb";
import type { Settings } from "../settings/settings.ts";
import { cleanChat, cleanMessage, cleanTree } from "./clean.ts";
import type { Message } from "./message.ts";
import type { Branches } from "./tree.ts";

/** A chat without its messages. */
export interface ChatInfo {
  id: string;
  title: string;
  created: number; // milliseconds, as Date.now()
  changed: number; // when its last question was asked
  settings: Settings;
  branches: Branches;
}

/** Where chats are kept. What is read is clean, whatever was written. Writing never throws: the chat goes on without. */
export interface Store {
  /** It lasts: what it was given is there at the next visit. */
  readonly lasts: boolean;
  chats(): Promise<ChatInfo[]>;
  messages(chat: string): Promise<Message[]>;
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
}

interface Schema extends DBSchema {
  chats: { key: string; value: ChatInfo };
  messages: { key: string; value: Message; indexes: { chat: string; stream: string } };
}

/** A step of a change of both stores. */
type Write = (change: IDBPTransaction<Schema, ("chats" | "messages")[], "readwrite">) => Promise<unknown>;

/** The chats of this browser, in its IndexedDB. */
export class BrowserStore implements Store {
  private failing = false;
  private turn: { writes: Write[]; written: Promise<void> } | undefined;

  private constructor(
    private readonly db: IDBPDatabase<Schema>,
    private readonly problem: (error: unknown) => void,
  ) {}

  /** problem gets the first of the errors in writing. Throws where the browser has no IndexedDB, or lends it to nobody. */
  static async open(problem: (error: unknown) => void, name = "penstock"): Promise<BrowserStore> {
    const db = await openDB<Schema>(name, 1, {
      upgrade(fresh) {
        fresh.createObjectStore("chats", { keyPath: "id" });
        const messages = fresh.createObjectStore("messages", { keyPath: "id" });
        messages.createIndex("chat", "chat");
        messages.createIndex("stream", "answer.stream"); // has only answers that run
      },
      blocking: (_now, _wanted, event) => (event.target as IDBDatabase).close(), // a newer page in another tab
    });
    return new BrowserStore(db, problem);
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
    return cleanMessage(await this.db.get("messages", id));
  }

  async running(): Promise<Message[]> {
    return cleaned(await this.db.getAllFromIndex("messages", "stream"));
  }

  keepChat(chat: ChatInfo): Promise<void> {
    return this.soon((change) => change.objectStore("chats").put(chat));
  }

  keepMessage(message: Message): Promise<void> {
    return this.soon((change) => change.objectStore("messages").put(message));
  }

  removeMessages(ids: readonly string[]): Promise<void> {
    return this.soon((change) => Promise.all(ids.map((id) => change.objectStore("messages").delete(id))));
  }

  async add(chat: ChatInfo, messages: readonly Message[]): Promise<void> {
    await this.write([
      (change) => change.objectStore("chats").put(chat),
      ...messages.map(
        (message): Write =>
          (change) =>
            change.objectStore("messages").put(message),
      ),
    ]);
  }

  remove(chat: string): Promise<void> {
    return this.soon(async (change) => {
      const messages = change.objectStore("messages");
      const keys = await messages.index("chat").getAllKeys(chat);
      const gone = [...keys.map((key) => messages.delete(key)), change.objectStore("chats").delete(chat)];
      await Promise.all(gone);
    });
  }

  close(): void {
    this.db.close();
  }

  /**
   * Writes together with all else that this turn of the page writes, so that a reload finds a question with the place
   * of its answer, or neither. What goes wrong is told, not thrown: a newer page in another tab may have taken the
   * database, too.
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
    const change = this.db.transaction(["chats", "messages"], "readwrite");
    await Promise.all([...writes.map((write) => write(change)), change.done]);
  }

  private fail(error: unknown): void {
    if (!this.failing) this.problem(error);
    this.failing = true;
  }
}

/** Chats that are gone with the page, where the browser keeps nothing. */
export class MemoryStore implements Store {
  readonly lasts = false;
  private readonly infos = new Map<string, ChatInfo>();
  private readonly texts = new Map<string, Message>();

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
}

/** The best store that this browser has. tell gets a sentence for the reader if chats are not kept. */
export async function openStore(tell: (problem: string) => void): Promise<Store> {
  try {
    return await BrowserStore.open((error) => tell(unkept(error)));
  } catch {
    tell(
      "This browser keeps nothing for this page: chats are gone when it is closed. Export those you need.",
    );
    return new MemoryStore();
  }
}

function unkept(error: unknown): string {
  return error instanceof DOMException && error.name === "QuotaExceededError"
    ? "The browser has no room left: what is written from now on is gone when the page is closed. Delete chats, or export them."
    : `The browser does not keep what is written from now on (${error}). Export the chats you need.`;
}

function cleaned(messages: readonly unknown[]): Message[] {
  return messages.map(cleanMessage).filter((message) => message !== undefined);
}
