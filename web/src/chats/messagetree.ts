// SPDX-License-Identifier: MIT

// The messages of a chat as a tree, of which one path is shown.
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { Message } from "./message.ts";

/**
 * Which child of a message is shown, where that is not its last one. By parent; "" stands for the
 * chat's beginning.
 */
export type ShownBranches = Readonly<Record<string, string>>;

/** The messages of a chat as a tree, of which one path is shown. */
export class MessageTree {
  private readonly nodes = new Map<string, Signal<Message>>();
  private readonly children = signal<ReadonlyMap<string, readonly string[]>>(new Map()); // by parent, oldest first

  constructor(
    messages: readonly Message[],
    readonly branches: Signal<ShownBranches> = signal({}),
  ) {
    const children = new Map<string, string[]>();
    for (const message of [...messages].sort((a, b) => a.created - b.created)) {
      this.nodes.set(message.id, signal(message));
      const parent = message.parent ?? "";
      const siblings = children.get(parent);
      if (siblings === undefined) children.set(parent, [message.id]);
      else siblings.push(message.id);
    }
    this.children.value = children;
  }

  /** The ids of the messages that are shown, first to last. */
  readonly path: ReadonlySignal<readonly string[]> = computed(() => {
    const path: string[] = [];
    for (let at = this.shownChild(""); at !== undefined; at = this.shownChild(at)) path.push(at);
    return path;
  });

  /** One message, to be watched. */
  node(id: string): ReadonlySignal<Message> {
    const node = this.nodes.get(id);
    if (node === undefined) throw new Error(`the chat has no message ${id}`); // untranslated: a mistake of ours
    return node;
  }

  has(id: string): boolean {
    void this.children.value; // whoever watches hears of its end
    return this.nodes.has(id);
  }

  all(): Message[] {
    return [...this.nodes.values()].map((node) => node.peek());
  }

  /** The last message that is shown. */
  get leaf(): Message | undefined {
    const id = this.path.value.at(-1);
    return id === undefined ? undefined : this.node(id).value;
  }

  /** Adds a message below its parent and shows it. */
  add(message: Message): void {
    this.insert(message);
    this.show(message.id);
  }

  /** Changes a message, or adds it where its parent is, shown only if no sibling was chosen. */
  put(message: Message): void {
    const node = this.nodes.get(message.id);
    if (node !== undefined) node.value = message;
    else this.insert(message);
  }

  /**
   * Takes out a message with all that follows it, and returns them. They can be put back one by
   * one.
   */
  remove(id: string): Message[] {
    const gone: Message[] = [];
    const children = new Map(this.children.peek());
    const parent = this.nodes.get(id)?.peek().parent ?? "";
    children.set(
      parent,
      (children.get(parent) ?? []).filter((child) => child !== id),
    );
    for (const left = [id]; left.length > 0; ) {
      const at = left.shift() ?? "";
      const message = this.nodes.get(at)?.peek();
      if (message !== undefined) gone.push(message);
      left.push(...(children.get(at) ?? []));
      children.delete(at);
      this.nodes.delete(at);
    }
    this.children.value = children;
    return gone;
  }

  /** Changes a message. Its place in the tree stays. */
  change(id: string, change: (message: Message) => Message): void {
    const node = this.nodes.get(id);
    if (node !== undefined) node.value = change(node.peek());
  }

  /** The messages that a reader can choose from in the place of this one, oldest first. */
  siblings(id: string): readonly string[] {
    return this.children.value.get(this.node(id).peek().parent ?? "") ?? [];
  }

  /** Shows this message instead of its siblings. */
  show(id: string): void {
    const parent = this.node(id).peek().parent ?? "";
    this.branches.value = { ...this.branches.peek(), [parent]: id };
  }

  /** Shows the way to this message. */
  reveal(id: string): void {
    const branches = { ...this.branches.peek() };
    for (const message of this.upTo(id)) branches[message.parent ?? ""] = message.id;
    this.branches.value = branches;
  }

  /**
   * The messages from the first to this one. Of messages that follow each other in a circle, as a
   * store may have them, each is there once.
   */
  upTo(id: string | null): Message[] {
    const list = new Set<Message>();
    for (let at = id; at !== null; ) {
      const message: Message | undefined = this.nodes.get(at)?.peek();
      if (message === undefined || list.has(message)) break;
      list.add(message);
      at = message.parent;
    }
    return [...list].reverse();
  }

  private insert(message: Message): void {
    this.nodes.set(message.id, signal(message));
    const parent = message.parent ?? "";
    const children = new Map(this.children.peek());
    const siblings = [...(children.get(parent) ?? [])];
    const created = (id: string) => this.nodes.get(id)?.peek().created ?? 0;
    const before = siblings.findLastIndex((id) => created(id) <= message.created);
    siblings.splice(before + 1, 0, message.id); // one that was deleted comes back to where it was
    children.set(parent, siblings);
    this.children.value = children;
  }

  private shownChild(parent: string): string | undefined {
    const children = this.children.value.get(parent) ?? [];
    const chosen = this.branches.value[parent];
    return chosen !== undefined && children.includes(chosen) ? chosen : children.at(-1);
  }
}
