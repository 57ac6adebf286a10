// SPDX-License-Identifier: MIT
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Settings } from "../settings/settings.ts";
import type { StartingSettings } from "../settings/starting.ts";
import { Chat, type Surroundings } from "./chat.ts";
import { type Message, newID } from "./message.ts";
import type { ChatInfo, Store } from "./store.ts";

/** All chats of this browser, one of them shown. Those that were shown stay in memory, where their answers go on. */
export class Chats {
  private readonly known = signal<ReadonlyMap<string, ChatInfo>>(new Map());
  private readonly open = new Map<string, Chat>();
  private readonly shown: Signal<Chat>;

  /** Begins with an empty chat. */
  constructor(
    private readonly store: Store,
    private readonly around: Omit<Surroundings, "store" | "keep">,
    private readonly starting: Pick<StartingSettings, "get">,
  ) {
    this.shown = signal(this.blank(starting.get()));
  }

  /** The chats that have messages, the one with the newest question first. */
  readonly list: ReadonlySignal<readonly ChatInfo[]> = computed(() =>
    [...this.known.value.values()].sort((a, b) => b.changed - a.changed),
  );

  get current(): ReadonlySignal<Chat> {
    return this.shown;
  }

  /** Reads the list, and goes on with the answers that ran when the page was left. */
  async load(): Promise<void> {
    const chats = await this.store.chats();
    this.known.value = new Map(chats.map((chat) => [chat.id, chat]));
    for (const { chat } of await this.store.running()) await this.loaded(chat);
  }

  /** Shows a chat; an unknown one changes nothing. */
  async show(id: string): Promise<void> {
    const chat = await this.loaded(id);
    if (chat !== undefined) this.shown.value = chat;
  }

  /** Shows an empty chat with these settings. It is kept once it has a message. */
  begin(settings = this.starting.get()): Chat {
    const chat = this.blank(settings);
    this.shown.value = chat;
    return chat;
  }

  async rename(id: string, title: string): Promise<void> {
    const chat = await this.loaded(id);
    if (chat !== undefined && title.trim() !== "") chat.title.value = title.trim();
  }

  /** Deletes a chat. Its answers are stopped. */
  async remove(id: string): Promise<void> {
    const chat = this.open.get(id);
    chat?.close();
    this.open.delete(id);
    const known = new Map(this.known.peek());
    known.delete(id);
    this.known.value = known;
    await this.store.remove(id);
    if (this.shown.peek().id === id) this.begin();
  }

  private async loaded(id: string): Promise<Chat | undefined> {
    const open = this.open.get(id);
    const info = this.known.peek().get(id);
    if (open !== undefined || info === undefined) return open;
    const messages = await this.store.messages(id);
    const meanwhile = this.open.get(id); // another call may have been faster
    if (meanwhile !== undefined) return meanwhile;
    const chat = this.make(info, messages);
    this.open.set(id, chat);
    chat.resumeAnswers();
    return chat;
  }

  private blank(settings: Settings): Chat {
    const now = Date.now();
    return this.make({ id: newID(), title: "", created: now, changed: now, settings, branches: {} }, []);
  }

  private make(info: ChatInfo, messages: readonly Message[]): Chat {
    const keep = (chat: Chat) => {
      const now = chat.info();
      this.open.set(now.id, chat);
      this.known.value = new Map(this.known.peek()).set(now.id, now);
      void this.store.keepChat(now);
    };
    return new Chat(info, messages, { ...this.around, store: this.store, keep });
  }
}
