// SPDX-License-Identifier: MIT
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Settings } from "../settings/settings.ts";
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

interface Schema extends DBSchema {
  chats: { key: string; value: ChatInfo };
  messages: { key: string; value: Message; indexes: { chat: string; stream: string } };
}

/** The chats of this browser, in its IndexedDB. */
export class Store {
  private constructor(private readonly db: IDBPDatabase<Schema>) {}

  static async open(name = "penstock"): Promise<Store> {
    const db = await openDB<Schema>(name, 1, {
      upgrade(fresh) {
        fresh.createObjectStore("chats", { keyPath: "id" });
        const messages = fresh.createObjectStore("messages", { keyPath: "id" });
        messages.createIndex("chat", "chat");
        messages.createIndex("stream", "answer.stream"); // has only answers that run
      },
    });
    return new Store(db);
  }

  chats(): Promise<ChatInfo[]> {
    return this.db.getAll("chats");
  }

  messages(chat: string): Promise<Message[]> {
    return this.db.getAllFromIndex("messages", "chat", chat);
  }

  /** The answers that ran when they were last written. */
  running(): Promise<Message[]> {
    return this.db.getAllFromIndex("messages", "stream");
  }

  async keepChat(chat: ChatInfo): Promise<void> {
    await this.db.put("chats", chat);
  }

  async keepMessage(message: Message): Promise<void> {
    await this.db.put("messages", message);
  }

  /** Deletes a chat with its messages. */
  async remove(chat: string): Promise<void> {
    const change = this.db.transaction(["chats", "messages"], "readwrite");
    const messages = change.objectStore("messages");
    for (const key of await messages.index("chat").getAllKeys(chat)) void messages.delete(key);
    void change.objectStore("chats").delete(chat);
    await change.done;
  }

  close(): void {
    this.db.close();
  }
}
