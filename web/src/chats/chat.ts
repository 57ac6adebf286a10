// SPDX-License-Identifier: MIT

// One chat: its questions, its answers, and its settings.
import { batch, effect, type Signal, signal, untracked } from "@preact/signals";
import type { GenerateRequest, RequestMessage, Sampling } from "../host/protocol.ts";
import { detachFor } from "../host/streams.ts";
import type { Column, Settings } from "../settings/settings.ts";
import { columnSettings, columnTitle } from "../settings/strategies.ts";
import type { Answers } from "./answers.ts";
import type { ChatInfo, Filed } from "./chatinfo.ts";
import type { ChatStore } from "./chatstore.ts";
import {
  type Answering,
  type Attachment,
  isMedium,
  type Message,
  newID,
  type Outcome,
  stopped,
  type ToolResult,
} from "./message.ts";
import { MessageTree } from "./messagetree.ts";
import type { MessageHandle, RunningAnswer } from "./runninganswer.ts";

/** What the chats of the page share. */
export interface ChatServices {
  store: Pick<ChatStore, "message" | "keepMessage" | "removeMessages">;
  answers: Answers;
  keep(chat: Chat): void; // what info tells, which has changed
  request(settings: Settings, messages: readonly Message[]): GenerateRequest;
}

/** What is to be brought into sight: the end of the chat, or the beginning of a message. */
export type Sought = "end" | { message: string };

const saveEvery = 1000; // milliseconds between two writes of an answer that grows

/**
 * A chat that is open: its messages in memory, and what a person can do with them. Every change
 * reaches the store.
 */
export class Chat {
  readonly id: string;
  readonly title: Signal<string>;
  readonly filed: Signal<Filed>;
  readonly settings: Signal<Settings>;
  readonly tree: MessageTree;
  /** Versions of one answer that are shown side by side, where the shown path has one of them. */
  readonly beside: Signal<readonly string[]> = signal([]);
  readonly sought: Signal<Sought | undefined> = signal(undefined);
  private readonly created: number;
  private changed: number;
  private closed = false;
  private taking = true; // what changes is known already: it is read from the store, or comes from another tab
  private readonly stopKeeping: () => void;
  private readonly due = new Map<string, ReturnType<typeof setTimeout>>(); // by message: its next write

  constructor(
    info: ChatInfo,
    messages: readonly Message[],
    private readonly around: ChatServices,
  ) {
    this.id = info.id;
    this.created = info.created;
    this.changed = info.changed;
    this.title = signal(info.title);
    this.filed = signal(filedOf(info));
    this.settings = signal(info.settings);
    this.tree = new MessageTree(messages, signal(info.branches));
    this.stopKeeping = effect(() => {
      this.info();
      const empty = this.tree.path.value.length === 0; // not worth keeping
      if (!this.taking && !empty) untracked(() => around.keep(this));
    });
    this.taking = false;
  }

  info(): ChatInfo {
    const { id, created, changed } = this;
    const [title, settings, branches] = [this.title.value, this.settings.value, this.tree.branches.value];
    return { ...this.filed.value, id, title, created, changed, settings, branches };
  }

  /** Goes on with what ran when the page was left. */
  resumeAnswers(): void {
    for (const message of this.tree.all()) this.resumeAnswer(message);
  }

  /** Takes over what another tab has written of the chat. */
  takeInfo(info: ChatInfo): void {
    const { title, settings, branches, changed } = info;
    this.taking = true;
    this.changed = changed;
    batch(() => {
      this.title.value = title;
      this.filed.value = filedOf(info);
      this.settings.value = settings;
      this.tree.branches.value = branches;
    });
    this.taking = false;
  }

  /** Takes over a message that another tab has written. */
  takeMessage(message: Message): void {
    const { answers } = this.around;
    const run = answers.running.peek().get(message.id);
    if (run !== undefined && !run.watching) return; // this tab knows better
    this.taking = true;
    this.tree.put(message);
    this.taking = false;
    if (message.answer?.phase === "done") answers.ended(message.id);
    else if (run === undefined) this.resumeAnswer(message);
  }

  /** Takes over that another tab has removed messages. */
  takeCut(ids: readonly string[]): void {
    this.taking = true;
    for (const id of ids) if (this.tree.has(id)) this.tree.remove(id);
    this.taking = false;
    for (const id of ids) this.abandon(id);
  }

  /** Stops its answers, and keeps nothing from now on. */
  close(): void {
    this.stopKeeping();
    this.closed = true;
    for (const { id } of this.tree.all()) this.abandon(id);
    for (const timer of this.due.values()) clearTimeout(timer);
  }

  /** Writes what is due now. */
  flush(): void {
    for (const id of [...this.due.keys()]) void this.save(id);
  }

  /** Goes out of memory, where none of its answers runs. */
  leave(): void {
    this.flush();
    this.stopKeeping();
  }

  /**
   * Asks below the last message that is shown. quietly: no person asks now, and who reads elsewhere
   * stays there.
   */
  ask(text: string, files: Attachment[] = [], quietly = false): RunningAnswer {
    const sought = this.sought.peek();
    const run = this.question(this.tree.leaf?.id ?? null, text, files);
    if (quietly) this.sought.value = sought;
    return run;
  }

  /** Asks otherwise than in this question, beside it. */
  edit(id: string, text: string, files: Attachment[] = []): RunningAnswer {
    return this.question(this.tree.node(id).peek().parent, text, files);
  }

  /** Puts an answer in a person's words beside this one. */
  rewrite(id: string, text: string): void {
    const { parent, answer } = this.tree.node(id).peek();
    const message = this.fresh(parent, "assistant", text);
    const { model = "" } = answer ?? {};
    const asked = message.created;
    const outcome: Outcome = { reason: "stop" };
    this.add({
      ...message,
      answer: { phase: "done", model, seq: -1, tokens: 0, asked, edited: true, outcome },
    });
  }

  /** Has the host go on with an answer where it ended. */
  goOn(id: string): RunningAnswer {
    const { content, reasoning = "", answer } = this.tree.node(id).peek();
    const { tokens = 0, model = "", edited } = answer ?? {};
    const request = continuation(this.requestFor(id), this.tree.node(id).peek());
    const earlier = { content: content.length, reasoning: reasoning.length, tokens };
    const again: Answering = { phase: "waiting", model, seq: -1, tokens, asked: Date.now(), earlier };
    this.tree.change(id, (m) => ({ ...m, answer: edited ? { ...again, edited } : again }));
    void this.save(id);
    if (this.tree.leaf?.id === id) this.sought.value = "end";
    return this.around.answers.start(this.place(id), request);
  }

  /**
   * Another answer beside this one, that begins with these words and goes on from there. Both are
   * shown.
   */
  goOnFrom(id: string, { content, reasoning, tokens }: Beginning): RunningAnswer {
    const { parent, answer } = this.tree.node(id).peek();
    const { model = "" } = answer ?? {};
    const settings = this.settings.peek();
    const message = this.fresh(parent, "assistant", content);
    if (reasoning !== "") message.reasoning = reasoning;
    const request = this.around.request(
      model === "" ? settings : { ...settings, model },
      this.tree.upTo(parent),
    );
    const earlier = { content: content.length, reasoning: reasoning.length, tokens };
    const asked = message.created;
    this.add({
      ...message,
      answer: { phase: "waiting", model, seq: -1, tokens, asked, earlier, traced: true },
    });
    this.beside.value = [id, message.id];
    return this.around.answers.start(this.place(message.id), continuation(request, message));
  }

  /** Takes out a message with all that follows it. The result puts them back. */
  remove(id: string): () => void {
    const gone = this.tree.remove(id);
    void this.around.store.removeMessages(gone.map((message) => message.id));
    for (const message of gone) this.abandon(message.id);
    return () => {
      for (const message of gone) {
        this.tree.put(stopped(message));
        void this.save(message.id);
      }
    };
  }

  /** Another answer beside this one, or a first one to a question. */
  answerAgain(id: string, settings = this.settings.peek()): RunningAnswer {
    const message = this.tree.node(id).peek();
    return this.answer(message.role === "user" ? id : message.parent, settings);
  }

  /**
   * Keeps what a tool answered to a call of an answer, in place of what it answered before. The
   * result waits until the store has it.
   */
  keepResult(id: string, result: ToolResult): Promise<void> {
    this.tree.change(id, (message) => {
      const others = (message.results ?? []).filter(({ call }) => call !== result.call);
      return { ...message, results: [...others, result] };
    });
    return this.save(id);
  }

  /** Takes over what is in the store of a message: another tab may have written it. */
  reread(id: string): Promise<void> {
    return this.place(id).read();
  }

  /** Has the model go on below an answer, with what tools answered to its calls. */
  goOnWithResults(id: string): RunningAnswer {
    return this.answer(id, this.settings.peek());
  }

  /**
   * Another answer beside this one, to the question and the share of what came before it that is
   * newest.
   */
  answerShorter(id: string, share: number): RunningAnswer {
    const { parent } = this.tree.node(id).peek();
    return this.answer(parent, this.settings.peek(), newest(this.tree.upTo(parent), share));
  }

  /** How much of what an answer is asked with is its question, by characters. */
  shareOfLast(id: string): number {
    const messages = this.tree.upTo(this.tree.node(id).peek().parent);
    const all = messages.reduce((sum, message) => sum + sizeOf(message), 0);
    const last = messages.at(-1);
    return last === undefined || all === 0 ? 1 : sizeOf(last) / all;
  }

  /**
   * Another answer that goes on from where this one is now, beside it, with other sampling
   * parameters if wanted. Both go on.
   */
  fork(id: string, sampling: Sampling = {}): RunningAnswer | undefined {
    const { answers } = this.around;
    const of = answers.running.peek().get(id);
    const { parent, answer } = this.tree.node(id).peek();
    if (of === undefined || answer === undefined) return undefined;
    const message = this.fresh(parent, "assistant", "");
    const { model, set } = answer;
    const asked = message.created;
    this.add({
      ...message,
      answer: { phase: "waiting", model, seq: -1, tokens: 0, asked, set: { ...set, ...sampling } },
    });
    this.beside.value = [id, message.id];
    return answers.fork(of, this.place(message.id), sampling);
  }

  /** The run of the last answer that is shown, or of one beside it, while one runs. */
  get run(): RunningAnswer | undefined {
    const running = this.around.answers.running.value;
    return this.last().flatMap((id) => running.get(id) ?? [])[0];
  }

  /** Stops the last answer that is shown, and those beside it. */
  stop(): void {
    const running = this.around.answers.running.peek();
    for (const id of this.last()) running.get(id)?.stop();
  }

  /** The last message that is shown, and the versions of it that stand beside it. */
  private last(): string[] {
    const { leaf } = this.tree;
    if (leaf === undefined) return [];
    const shown = this.beside.value;
    const siblings = shown.includes(leaf.id) ? this.tree.siblings(leaf.id) : [];
    return [leaf.id, ...siblings.filter((id) => id !== leaf.id && shown.includes(id))];
  }

  private question(parent: string | null, text: string, files: Attachment[]): RunningAnswer {
    const message = this.fresh(parent, "user", text);
    if (this.title.peek() === "") this.title.value = questionTitle({ content: text, files });
    this.changed = message.created;
    this.add(files.length > 0 ? { ...message, files } : message);
    const settings = this.settings.peek();
    const { columns = [] } = settings;
    return columns.length > 1 ? this.answerInColumns(message.id, columns) : this.answer(message.id, settings);
  }

  /** An answer of each column, which the host computes together and the page shows side by side. */
  private answerInColumns(parent: string, columns: readonly Column[]): RunningAnswer {
    const settings = this.settings.peek();
    const runs = columns.map((column, i) =>
      this.answer(parent, columnSettings(settings, column), undefined, { title: columnTitle(column), at: i }),
    );
    this.beside.value = runs.map(({ id }) => id);
    const first = runs[0] as RunningAnswer; // columns are several
    this.tree.show(first.id);
    return first;
  }

  private answer(
    parent: string | null,
    settings: Settings,
    messages: readonly Message[] = this.tree.upTo(parent),
    column?: { title: string; at: number },
  ): RunningAnswer {
    const request = this.around.request(settings, messages);
    const message = this.fresh(parent, "assistant", "");
    const asked = message.created;
    const answer: Answering = { phase: "waiting", model: settings.model ?? "", seq: -1, tokens: 0, asked };
    if (column !== undefined) answer.column = column.title;
    // Columns are made at once, and keep their order by when they were made.
    this.add({ ...message, created: asked + (column?.at ?? 0), answer });
    return this.around.answers.start(this.place(message.id), request);
  }

  private resumeAnswer(message: Message): void {
    const { id, answer } = message;
    if (answer === undefined || answer.phase === "done") return;
    const recent = Date.now() - answer.asked < detachFor; // else nobody may want it any more
    const anew =
      answer.earlier === undefined ? this.requestFor(id) : continuation(this.requestFor(id), message);
    this.around.answers.resume(this.place(id), recent ? anew : undefined);
  }

  /** What an answer to the same question is asked for with. */
  private requestFor(id: string): GenerateRequest {
    return this.around.request(this.settings.peek(), this.tree.upTo(this.tree.node(id).peek().parent));
  }

  private fresh(parent: string | null, role: Message["role"], content: string): Message {
    return { id: newID(), chat: this.id, parent, role, created: Date.now(), content };
  }

  /** Stops the answer of a message that is gone. */
  private abandon(id: string): void {
    this.around.answers.running.peek().get(id)?.abandon();
    clearTimeout(this.due.get(id));
    this.due.delete(id);
  }

  private add(message: Message): void {
    batch(() => {
      this.tree.add(message);
      this.sought.value = "end"; // who has asked for it wants to see it
    });
    void this.save(message.id);
  }

  private place(id: string): MessageHandle {
    const { tree } = this;
    let node = tree.node(id);
    return {
      get message() {
        if (tree.has(id)) node = tree.node(id);
        return node; // of one that was deleted, as it was
      },
      change: async (change, soon) => {
        this.tree.change(id, change);
        if (soon) await this.save(id);
        else if (!this.due.has(id)) this.due.set(id, setTimeout(this.save, saveEvery, id));
      },
      read: async () => {
        let before: Message;
        let stored: Message | undefined;
        do {
          if (!tree.has(id)) return;
          before = tree.node(id).peek();
          // What cannot be read is as it was, and what has changed here meanwhile is newer.
          stored = await this.around.store.message(id).catch(() => undefined);
        } while (tree.has(id) && tree.node(id).peek() !== before);
        if (stored !== undefined && tree.has(id)) tree.put(stored);
      },
    };
  }

  private readonly save = async (id: string): Promise<void> => {
    clearTimeout(this.due.get(id));
    this.due.delete(id);
    if (!this.closed && this.tree.has(id)) await this.around.store.keepMessage(this.tree.node(id).peek());
  };
}

/** What an answer is to begin with. */
export interface Beginning {
  content: string;
  reasoning: string;
  tokens: number; // that this is
}

/** The request to go on with a message in the place of its last one. */
function continuation(request: GenerateRequest, { content, reasoning = "" }: Message): GenerateRequest {
  const last: RequestMessage = { role: "assistant", content };
  if (reasoning !== "") last.reasoning_content = reasoning;
  const what = content === "" ? "reasoning_content" : "content";
  const fields = { continue_final_message: what, add_generation_prompt: false };
  return { ...request, messages: [...request.messages, last], ...fields };
}

function filedOf({ pinned, folder }: ChatInfo): Filed {
  return { ...(pinned && { pinned }), ...(folder !== undefined && { folder }) };
}

/** What a chat is called by its first question. */
export function questionTitle({ content, files = [] }: Pick<Message, "content" | "files">): string {
  return titleOf(content || (files[0]?.name ?? ""));
}

/** In characters. */
export const longestTitle = 60;

/** The beginning of a question, as a name for its chat. */
export function titleOf(question: string): string {
  const line = question.trim().replace(/\s+/g, " ");
  return line.length <= longestTitle ? line : `${line.slice(0, longestTitle - 1).trimEnd()}…`;
}

const mediumSize = 2000; // characters that take about as much of the context as a picture or a sound

/** How long a message is, in characters. */
function sizeOf({ content, files = [], results = [] }: Message): number {
  return (
    files.reduce((sum, file) => sum + (isMedium(file) ? mediumSize : file.text.length), content.length) +
    results.reduce((sum, result) => sum + result.content.length, 0)
  );
}

/**
 * The newest messages, from a question on, that have at most this share of all characters; at
 * least the last question.
 */
function newest(messages: readonly Message[], share: number): readonly Message[] {
  let left = share * messages.reduce((sum, message) => sum + sizeOf(message), 0);
  let from = messages.length - 1;
  for (let at = from; at >= 0; at--) {
    const message = messages[at];
    if (message === undefined) break;
    left -= sizeOf(message);
    if (left < 0) break;
    if (message.role === "user") from = at;
  }
  return messages.slice(from);
}
