// SPDX-License-Identifier: MIT

// Keeps traces in IndexedDB, up to a budget.
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { BranchChange } from "../host/protocol.ts";
import { cleanTrace } from "./cleantrace.ts";
import type { Piece } from "./tokenitems.ts";

/** Of which answer traces are kept. */
interface Entry {
  message: string;
  chat: string;
  at: number; // when they were written, in milliseconds as Date.now()
  tokens: number;
}

interface Schema extends DBSchema {
  answers: { key: string; value: Entry; indexes: { chat: string; at: number } };
  chunks: { key: [message: string, n: number]; value: Piece[] };
  branches: { key: string; value: readonly BranchChange[] }; // by message
}

/** Tokens in one record: what is written anew as an answer grows. */
export const chunkTokens = 64;

/**
 * Tokens of all answers together of which traces are kept, about 3 KB each. The oldest answers' go
 * first.
 */
export const mostStoredTokens = 20_000;

/**
 * Traces of answers in the browser's IndexedDB: in a database of their own, which may be emptied
 * without harm to any chat.
 */
export class TraceStore {
  private constructor(
    private readonly db: IDBPDatabase<Schema>,
    private readonly budget: number,
  ) {}

  static async open(name = "penstock-traces", most = mostStoredTokens): Promise<TraceStore> {
    const db = await openDB<Schema>(name, 2, {
      upgrade(fresh, version) {
        fresh.createObjectStore("branches"); // since version 2
        if (version > 0) return;
        const answers = fresh.createObjectStore("answers", { keyPath: "message" });
        answers.createIndex("chat", "chat");
        answers.createIndex("at", "at");
        fresh.createObjectStore("chunks");
      },
      blocking: (_now, _wanted, event) => (event.target as IDBDatabase).close(), // a newer page in another tab
    });
    return new TraceStore(db, most);
  }

  /** Writes the pieces of an answer from the given one on, and makes room for them. */
  async write(message: string, chat: string, pieces: readonly Piece[], from: number): Promise<void> {
    const change = this.db.transaction(["answers", "chunks"], "readwrite");
    const chunks = change.objectStore("chunks");
    const first = Math.floor(from / chunkTokens);
    void chunks.delete(range(message, first));
    for (let n = first; n * chunkTokens < pieces.length; n++)
      void chunks.put(pieces.slice(n * chunkTokens, (n + 1) * chunkTokens), [message, n]);
    const tokens = pieces.length;
    void change.objectStore("answers").put({ message, chat, at: Date.now(), tokens });
    await change.done;
    await this.makeRoom();
  }

  /** Writes what a program told of its branches, in place of what is kept of the answer. */
  async writeBranches(message: string, chat: string, changes: readonly BranchChange[]): Promise<void> {
    const change = this.db.transaction(["answers", "branches"], "readwrite");
    void change.objectStore("branches").put(changes, message);
    const tokens = changes.length;
    void change.objectStore("answers").put({ message, chat, at: Date.now(), tokens });
    await change.done;
    await this.makeRoom();
  }

  /**
   * What a program told of the branches of an answer; none if nothing is kept of them. BranchTree
   * looks at each.
   */
  async readBranches(message: string): Promise<readonly BranchChange[]> {
    const changes: unknown = await this.db.get("branches", message);
    return Array.isArray(changes) ? changes : [];
  }

  /**
   * The pieces of an answer; none if nothing is kept of it. What is not valid in them is left out.
   */
  async read(message: string): Promise<Piece[]> {
    const chunks: unknown[] = await this.db.getAll("chunks", range(message, 0));
    return chunks.flatMap((pieces) => (Array.isArray(pieces) ? pieces.map(cleanPiece) : []));
  }

  /** Forgets the answers of a chat. */
  async forget(chat: string): Promise<void> {
    await this.remove(await this.db.getAllFromIndex("answers", "chat", chat));
  }

  close(): void {
    this.db.close();
  }

  private async makeRoom(): Promise<void> {
    const answers = await this.db.getAllFromIndex("answers", "at");
    let total = answers.reduce((sum, { tokens }) => sum + tokens, 0);
    const old: Entry[] = [];
    for (const entry of answers.slice(0, -1)) {
      if (total <= this.budget) break;
      total -= entry.tokens;
      old.push(entry);
    }
    await this.remove(old);
  }

  private async remove(answers: readonly Entry[]): Promise<void> {
    if (answers.length === 0) return;
    const change = this.db.transaction(["answers", "chunks", "branches"], "readwrite");
    for (const { message } of answers) {
      void change.objectStore("answers").delete(message);
      void change.objectStore("branches").delete(message);
      void change.objectStore("chunks").delete(range(message, 0));
    }
    await change.done;
  }
}

/** The chunks of an answer from the given one on. */
function range(message: string, first: number): IDBKeyRange {
  return IDBKeyRange.bound([message, first], [message, Number.POSITIVE_INFINITY]);
}

function cleanPiece(value: unknown): Piece {
  const { text, trace } = (typeof value === "object" && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const clean = cleanTrace(trace);
  const piece: Piece = { text: typeof text === "string" ? text : "" };
  return clean === undefined ? piece : { ...piece, trace: clean };
}
