// SPDX-License-Identifier: MIT

// Answers the calls of tools that an answer ends with, and has the model go on.
import { batch, type Signal, signal } from "@preact/signals";
import type { Chat } from "../chats/chat.ts";
import type { Chats } from "../chats/chats.ts";
import { callsOf, type Message, openCalls, type ToolResult } from "../chats/message.ts";
import type { RunningAnswer } from "../chats/runninganswer.ts";
import { type AnswerSharing, onlyTab } from "../chats/tabs.ts";
import type { ToolCall } from "../host/protocol.ts";
import { t } from "../language/language.ts";
import { isRecord } from "../text/parsedjson.ts";
import type { ServerConnections } from "./serverconnections.ts";
import type { OfferedTool, ToolServers } from "./toolservers.ts";

/** So many answers in a row may call tools before a person is asked again. */
export const mostRounds = 25;

/** The calls of tools in all chats. */
export class ToolCalls {
  private readonly live: Signal<ReadonlyMap<string, AbortController>> = signal(new Map()); // by keyOf

  /** open is called once a tool of a server is wanted. */
  constructor(
    private readonly chats: Pick<Chats, "of">,
    private readonly servers: ToolServers,
    private readonly open: () => Promise<Pick<ServerConnections, "call">>,
    private readonly sharing: Pick<AnswerSharing, "claim"> = onlyTab,
  ) {}

  /** Who answers a call, as the chat's settings are now; undefined: the chat has no such tool. */
  toolOf(chat: Chat, { function: { name } }: ToolCall): OfferedTool | undefined {
    return this.servers.offered(chat.settings.value).find(({ definition }) => definition.name === name);
  }

  /** Whether a server works on a call now. */
  runs(id: string, call: ToolCall): boolean {
    return this.live.value.has(keyOf(id, call));
  }

  /**
   * Has the server run a tool. With always, it is not asked for again. Of several tabs that do so
   * one has it run, and the others show what it answers.
   */
  async run(chat: Chat, id: string, call: ToolCall, always = false): Promise<void> {
    const { server, tool } = this.toolOf(chat, call) ?? {};
    const key = keyOf(id, call);
    if (server === undefined || tool === undefined || this.live.peek().has(key)) return;
    if (always)
      this.servers.change(server.url, (kept) => ({ ...kept, always: [...new Set([...kept.always, tool])] }));
    const stop = new AbortController();
    this.note(key, stop);
    const before = stateOf(chat, id, call);
    let giveUp = () => {};
    await new Promise<void>((granted) => {
      giveUp = this.sharing.claim(key, granted);
      stop.signal.addEventListener("abort", () => granted());
    });
    await chat.reread(id);
    if (stop.signal.aborted || stateOf(chat, id, call) !== before) {
      this.note(key, undefined);
      giveUp();
      return;
    }
    let kept = Promise.resolve();
    const keep = (result: Omit<ToolResult, "call">) => {
      kept = (this.now(chat) ?? chat).keepResult(id, { call: call.id, by: server.name, ...result });
    };
    keep({ content: "", open: true });
    let result: Omit<ToolResult, "call">;
    try {
      const connections = await this.open();
      const { text, failed } = await connections.call(server, tool, argumentsOf(call), stop.signal);
      result = failed ? { content: text, failed } : { content: text };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      result = { content: problem, failed: true, open: true };
    }
    batch(() => {
      this.note(key, undefined);
      keep(result);
      const now = this.now(chat);
      if (now !== undefined) this.goOn(now, id);
    });
    await kept;
    giveUp();
  }

  /**
   * Calls free once no tab works on a call: the one that did has answered it, or is gone. The
   * result is for who does not want to know any more.
   */
  whenFree(chat: Chat, id: string, call: ToolCall, free: () => void): () => void {
    let giveUp = () => {};
    const granted = new Promise<void>((resolve) => {
      giveUp = this.sharing.claim(keyOf(id, call), resolve);
    });
    let wanted = true;
    void granted
      .then(() => chat.reread(id))
      .then(() => {
        giveUp();
        giveUp = () => {}; // this tab may claim it for itself meanwhile
        if (wanted) free();
      });
    return () => {
      wanted = false;
      giveUp();
    };
  }

  /** Stops a call that a server works on. What it has done already stays done. */
  stop(id: string, call: ToolCall): void {
    this.live.peek().get(keyOf(id, call))?.abort();
  }

  /** Answers a call in the place of a tool. */
  answer(chat: Chat, id: string, call: ToolCall, content: string): void {
    batch(() => {
      chat.keepResult(id, { call: call.id, content });
      this.goOn(chat, id);
    });
  }

  /**
   * Has the model go on once all calls of an answer are answered, if nothing else was asked since.
   * Within the batch that answers the last call, it comes before a question that waits.
   */
  goOn(chat: Chat, id: string): void {
    if (!chat.tree.has(id) || chat.tree.leaf?.id !== id || chat.run !== undefined) return;
    if (openCalls(chat.tree.node(id).peek()).length === 0) chat.goOnWithResults(id);
  }

  /** Runs what needs no permission of an answer that has ended. */
  begin({ chat: name, id }: Pick<RunningAnswer, "chat" | "id">): void {
    const chat = this.chats.of({ chat: name });
    if (chat === undefined || !chat.tree.has(id)) return;
    const open = openCalls(chat.tree.node(id).peek());
    if (open.length === 0 || roundsOf(chat.tree.upTo(id)) > mostRounds) return;
    for (const call of open) {
      const { server, tool } = this.toolOf(chat, call) ?? {};
      if (server !== undefined && tool !== undefined && this.servers.mayRun(server, tool))
        void this.run(chat, id, call);
    }
  }

  /**
   * The chat as it is in memory now: one that was not shown for long may have been read anew.
   * undefined: it is not there, or was deleted, and an answer in it would be lost.
   */
  private now(chat: Chat): Chat | undefined {
    return this.chats.of({ chat: chat.id });
  }

  private note(key: string, stop: AbortController | undefined): void {
    const live = new Map(this.live.peek());
    if (stop === undefined) live.delete(key);
    else live.set(key, stop);
    this.live.value = live;
  }
}

function keyOf(id: string, call: ToolCall): string {
  return `${id} ${call.id}`;
}

/** What is known of a call's result, to be compared. */
function stateOf({ tree }: Chat, id: string, { id: name }: ToolCall): string | undefined {
  if (!tree.has(id)) return undefined;
  return JSON.stringify(
    tree
      .node(id)
      .peek()
      .results?.find(({ call }) => call === name),
  );
}

/** How many answers have called tools since the last question. */
function roundsOf(messages: readonly Message[]): number {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(asked + 1).filter((message) => callsOf(message).length > 0).length;
}

function argumentsOf({ function: { arguments: given } }: ToolCall): Record<string, unknown> {
  const value: unknown = JSON.parse(given === "" ? "{}" : given);
  if (!isRecord(value)) throw new Error(t("the arguments are no JSON object"));
  return value;
}
