// SPDX-License-Identifier: MIT

// All chats: the list, the one that is shown, and what other tabs change.
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Settings } from "../settings/settings.ts";
import type { StartingSettings } from "../settings/startingsettings.ts";
import { Chat, type ChatServices } from "./chat.ts";
import { inListOrder } from "./chatgroups.ts";
import type { ChatInfo, Filed } from "./chatinfo.ts";
import type { ChatStore } from "./chatstore.ts";
import { cleanChat, cleanFiled, cleanMessage } from "./cleanchat.ts";
import type { Draft, Unsent } from "./drafts.ts";
import { type Message, newID, stopped } from "./message.ts";
import type { TabNews, Tabs } from "./tabs.ts";

/** A chat with all of its messages. */
export interface WholeChat {
  info: ChatInfo;
  messages: readonly Message[];
  unsent?: Draft; // what was written in it and not sent
  files?: ReadonlyMap<string, Blob>; // bytes of pictures and sounds that may not be in the store
}

const mostIdle = 4; // chats in memory that are not shown and have nothing running

/** All chats of this browser, one of them shown. */
export class Chats {
  private readonly known = signal<ReadonlyMap<string, ChatInfo>>(new Map());
  private readonly open = new Map<string, Chat>(); // in memory, the one that was shown last at the end
  private readonly opening = new Map<string, Promise<Chat | undefined>>();
  private readonly shown: Signal<Chat>;
  /** Has what is written in chats and not sent: that goes with a chat that is deleted. */
  unsent: Unsent | undefined;
  private wanted = ""; // the chat to be shown, by its id: a later choice may be read sooner

  /** Begins with an empty chat. */
  constructor(
    private readonly store: ChatStore,
    private readonly around: Omit<ChatServices, "store" | "keep">,
    private readonly starting: Pick<StartingSettings, "get">,
    private readonly tabs?: Pick<Tabs, "tell" | "listen">,
  ) {
    this.shown = signal(this.blank(starting.get()));
    tabs?.listen((news) => void this.hear(news));
  }

  /** The chats that have messages, in the order of the list (chatgroups.ts). */
  readonly list: ReadonlySignal<readonly ChatInfo[]> = computed(() =>
    [...this.known.value.values()].sort(inListOrder),
  );

  /** The chats in which an answer runs. */
  readonly running: ReadonlySignal<ReadonlySet<string>> = computed(
    () => new Set([...this.around.answers.running.value.values()].map((run) => run.chat)),
  );

  get current(): ReadonlySignal<Chat> {
    return this.shown;
  }

  /** The chat of an answer that runs, or of any other that is in memory. */
  of({ chat }: { chat: string }): Chat | undefined {
    return this.open.get(chat);
  }

  /** Reads the list, and goes on with the answers that ran when the page was left. */
  async load(): Promise<void> {
    const chats = await this.store.chats();
    this.known.value = new Map(chats.map((chat) => [chat.id, chat]));
    for (const { chat } of await this.store.running()) await this.loaded(chat);
  }

  /** Shows a chat; false if there is none of that name. */
  async show(id: string): Promise<boolean> {
    this.wanted = id;
    if (this.shown.peek().id === id) return true;
    const chat = await this.loaded(id);
    if (chat === undefined) return false;
    if (this.wanted !== id) return true;
    this.shown.value = chat;
    this.open.delete(id); // and to the end
    this.open.set(id, chat);
    this.forgetIdle();
    return true;
  }

  /** Shows an empty chat with these settings. It is kept once it has a message. */
  begin(settings = this.starting.get()): Chat {
    const chat = this.blank(settings);
    this.wanted = chat.id;
    this.shown.value = chat;
    this.forgetIdle();
    return chat;
  }

  async rename(id: string, title: string): Promise<void> {
    const chat = await this.loaded(id);
    if (chat !== undefined && title.trim() !== "") chat.title.value = title.trim();
  }

  /** Puts a chat elsewhere in the list. */
  async file(id: string, filed: Filed): Promise<void> {
    const chat = await this.loaded(id);
    if (chat !== undefined) chat.filed.value = cleanFiled({ ...filed });
  }

  /** Deletes a chat. Its answers are stopped. The result can be added again. */
  async remove(id: string): Promise<WholeChat | undefined> {
    const [whole] = await this.removeThese([id]);
    return whole;
  }

  /** Deletes all chats. The result can be added again. */
  async removeAll(): Promise<WholeChat[]> {
    return this.removeThese([...this.known.peek().keys()]);
  }

  private async removeThese(ids: readonly string[]): Promise<WholeChat[]> {
    const wholes = (await Promise.all(ids.map((id) => this.whole(id)))).filter((chat) => chat !== undefined);
    const unsent = new Map<string, Draft>();
    batch(() => {
      for (const id of ids) {
        const draft = this.forget(id);
        if (draft !== undefined) unsent.set(id, draft);
      }
    });
    await Promise.all(ids.map((id) => this.store.remove(id)));
    for (const chat of ids) this.tabs?.tell({ kind: "removed", chat });
    return wholes.map((chat) => {
      const draft = unsent.get(chat.info.id);
      return { ...chat, messages: chat.messages.map(stopped), ...(draft && { unsent: draft }) };
    });
  }

  /** A chat as it is now; undefined if there is none of that name. */
  async whole(id: string): Promise<WholeChat | undefined> {
    const open = this.open.get(id);
    if (open !== undefined) return { info: open.info(), messages: open.tree.all() };
    const info = this.known.peek().get(id);
    return info && { info, messages: await this.store.messages(id) };
  }

  /**
   * Adds a chat that was deleted or comes from a file. Throws if the browser has no room for it.
   */
  async add(chat: WholeChat): Promise<void> {
    await this.addAll([chat]);
  }

  /** Adds chats as add does, and lists them together. Those before one that has no room stay. */
  async addAll(chats: readonly WholeChat[]): Promise<void> {
    const added = new Map<string, ChatInfo>();
    try {
      for (const { info, messages, unsent, files = [] } of chats) {
        for (const [file, bytes] of files) this.store.hold(file, bytes);
        await this.store.add(info, messages);
        if (unsent !== undefined) this.unsent?.putUnsent(info.id, unsent);
        added.set(info.id, info);
      }
    } finally {
      this.known.value = new Map([...this.known.peek(), ...added]);
      for (const chat of added.values()) this.tabs?.tell({ kind: "chat", chat });
    }
  }

  has(id: string): boolean {
    return this.known.peek().has(id);
  }

  /** Writes what is due now, as the page may end. */
  flush(): void {
    for (const chat of this.open.values()) chat.flush();
  }

  private loaded(id: string): Promise<Chat | undefined> {
    const open = this.open.get(id);
    if (open !== undefined) return Promise.resolve(open);
    const opening = this.opening.get(id) ?? this.read(id).finally(() => this.opening.delete(id));
    this.opening.set(id, opening);
    return opening;
  }

  private async read(id: string): Promise<Chat | undefined> {
    const info = this.known.peek().get(id);
    if (info === undefined) return undefined;
    const chat = this.make(info, await this.store.messages(id));
    if (!this.has(id)) return undefined; // deleted meanwhile
    this.open.set(id, chat);
    chat.resumeAnswers();
    return chat;
  }

  /** Takes chats out of memory that were not shown for long. The store has all of them. */
  private forgetIdle(): void {
    if (!this.store.lasts) return;
    const running = this.running.peek();
    const idle = [...this.open.values()].filter(
      (chat) => chat !== this.shown.peek() && !running.has(chat.id) && this.has(chat.id),
    );
    for (const chat of idle.slice(0, Math.max(0, idle.length - mostIdle))) {
      chat.leave();
      this.open.delete(chat.id);
    }
  }

  /** Forgets a chat that is deleted. Results in what was written in it and not sent. */
  private forget(id: string): Draft | undefined {
    const unsent = this.unsent?.takeUnsent(id); // before the answer ends for which it waits
    this.open.get(id)?.close();
    this.open.delete(id);
    const known = new Map(this.known.peek());
    known.delete(id);
    this.known.value = known;
    if (this.shown.peek().id === id) this.begin();
    return unsent;
  }

  private note(info: ChatInfo): void {
    this.known.value = new Map(this.known.peek()).set(info.id, info);
  }

  /**
   * Takes over what another tab has done. What it has written is in the store, which all tabs
   * share.
   */
  private async hear(news: TabNews): Promise<void> {
    if (news.kind === "steer") this.around.answers.steer(news.answer, news.frame);
    if (news.kind === "removed") this.forget(news.chat);
    if (news.kind === "cut") this.open.get(news.chat)?.takeCut(news.messages);
    if (news.kind === "chat") {
      const info = cleanChat(news.chat);
      if (info === undefined) return;
      this.note(info);
      (this.open.get(info.id) ?? (await this.opening.get(info.id)))?.takeInfo(info);
    }
    if (news.kind === "message") {
      const message = cleanMessage(news.message);
      if (message === undefined) return;
      const runs = message.answer !== undefined && message.answer.phase !== "done";
      const chat = runs ? await this.loaded(message.chat) : await this.opening.get(message.chat);
      (chat ?? this.open.get(message.chat))?.takeMessage(message);
    }
  }

  private blank(settings: Settings): Chat {
    const now = Date.now();
    return this.make({ id: newID(), title: "", created: now, changed: now, settings, branches: {} }, []);
  }

  private make(info: ChatInfo, messages: readonly Message[]): Chat {
    const keep = (chat: Chat) => {
      const now = chat.info();
      this.open.set(now.id, chat);
      this.note(now);
      void this.store.keepChat(now).then(() => this.tabs?.tell({ kind: "chat", chat: now }));
    };
    const store = {
      message: (id: string) => this.store.message(id),
      keepMessage: async (message: Message) => {
        await this.store.keepMessage(message);
        this.tabs?.tell({ kind: "message", message });
      },
      removeMessages: async (ids: readonly string[]) => {
        await this.store.removeMessages(ids);
        this.tabs?.tell({ kind: "cut", chat: info.id, messages: ids });
      },
    };
    return new Chat(info, messages, { ...this.around, store, keep });
  }
}
