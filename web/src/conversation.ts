// SPDX-License-Identifier: MIT
import type { EndReason, HostError, Message, TokenTrace } from "./protocol.ts";
import { Signal } from "./signal.ts";

/** How an answer came out. */
export interface Outcome {
  reason: EndReason;
  tokens: number;
  perSecond: number; // tokens a second; 0 if not known
  error?: HostError;
}

/** A question and its answer, which grows while phase is not done. */
export interface Exchange {
  readonly question: string;
  answer: string;
  pieces: number; // token frames so far
  traces: TokenTrace[]; // of the tokens, where they were asked for
  phase: "waiting" | "streaming" | "stopping" | "done";
  outcome?: Outcome; // set when phase is done
}

export type Change =
  | { kind: "cleared" }
  | { kind: "added"; exchange: Exchange }
  | { kind: "changed"; exchange: Exchange };

/** What was said so far: the page's only state besides settings and connection. */
export class Conversation {
  readonly changes = new Signal<Change>();
  private readonly list: Exchange[] = [];

  get exchanges(): readonly Exchange[] {
    return this.list;
  }

  get last(): Exchange | undefined {
    return this.list.at(-1);
  }

  add(question: string): Exchange {
    const exchange: Exchange = { question, answer: "", pieces: 0, traces: [], phase: "waiting" };
    this.list.push(exchange);
    this.changes.emit({ kind: "added", exchange });
    return exchange;
  }

  /** Changes an exchange; one that was cleared away in the meantime changes unseen. */
  change(exchange: Exchange, fields: Partial<Exchange>): void {
    Object.assign(exchange, fields);
    if (this.list.includes(exchange)) this.changes.emit({ kind: "changed", exchange });
  }

  clear(): void {
    this.list.length = 0;
    this.changes.emit({ kind: "cleared" });
  }

  /**
   * The messages that lead to the last answer. Earlier questions without an answer are left out, since
   * many chat templates refuse two questions in a row.
   */
  prompt(system: string): Message[] {
    const messages: Message[] = system.trim() === "" ? [] : [{ role: "system", content: system }];
    for (const { question, answer } of this.list.slice(0, -1)) {
      if (answer === "") continue;
      messages.push({ role: "user", content: question }, { role: "assistant", content: answer });
    }
    if (this.last !== undefined) messages.push({ role: "user", content: this.last.question });
    return messages;
  }
}
