// SPDX-License-Identifier: MIT

// Talks with the other tabs of this browser: who follows an answer, and what has changed.
import type { ClientFrame } from "../host/protocol.ts";
import type { ChatInfo } from "./chatinfo.ts";
import type { Message } from "./message.ts";

/** What a tab of this browser tells the others. */
export type TabNews =
  | { kind: "chat"; chat: ChatInfo } // was written
  | { kind: "message"; message: Message } // was written
  | { kind: "removed"; chat: string }
  | { kind: "cut"; chat: string; messages: readonly string[] } // were removed
  | { kind: "steer"; answer: string; frame: ClientFrame }; // for the tab that follows the answer

/**
 * What the answers of a tab need of the others: only one of them may follow an answer, for the
 * host sends it to one reader only.
 */
export interface AnswerSharing {
  /** Takes an answer that begins here. The result gives it up. */
  hold(answer: string): () => void;
  /**
   * Calls granted when no other tab follows the answer, at once or much later. The result gives it
   * up.
   */
  claim(answer: string, granted: () => void): () => void;
  /** Hands a frame to the tab that follows the answer. */
  steer(answer: string, frame: ClientFrame): void;
}

/** A page without others. */
export const onlyTab: AnswerSharing = {
  hold: () => () => {},
  claim(_answer, granted) {
    granted();
    return () => {};
  },
  steer() {},
};

/** The other tabs of this browser that show this page. */
export class Tabs implements AnswerSharing {
  private readonly channel: BroadcastChannel;
  private readonly claims: Pick<AnswerSharing, "claim" | "hold">;

  /** Locks exist only on https and localhost; elsewhere the tabs settle it among themselves. */
  constructor(locks: LockManager | undefined = navigator.locks, name = "penstock") {
    this.channel = new BroadcastChannel(name);
    this.claims = locks === undefined ? new ChannelClaims(`${name}.claims`) : new LockClaims(locks);
  }

  tell(news: TabNews): void {
    this.channel.postMessage(news);
  }

  listen(listener: (news: TabNews) => void): void {
    this.channel.addEventListener("message", (event) => listener(event.data));
  }

  hold(answer: string): () => void {
    return this.claims.hold(answer);
  }

  claim(answer: string, granted: () => void): () => void {
    return this.claims.claim(answer, granted);
  }

  steer(answer: string, frame: ClientFrame): void {
    this.tell({ kind: "steer", answer, frame });
  }
}

/**
 * Claims by Web Locks. The browser gives a lock to the next tab when the first is closed, or
 * crashes.
 */
class LockClaims {
  constructor(private readonly locks: LockManager) {}

  hold(answer: string): () => void {
    return this.claim(answer, () => {});
  }

  claim(answer: string, granted: () => void): () => void {
    const waiting = new AbortController();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const hold = () => {
      granted();
      return held;
    };
    // Rejects only if it is aborted.
    this.locks.request(`penstock.answer.${answer}`, { signal: waiting.signal }, hold).catch(() => {});
    return () => {
      waiting.abort();
      release();
    };
  }
}

interface Claim {
  answer: string;
  by: string;
  kind: "ask" | "held";
}

const askFor = 400; // milliseconds that another tab has to object
const askAgain = 3000; // milliseconds until a tab that waits asks anew: the other may be gone

/** Claims among tabs that can only talk: who wants one asks, and has it if nobody objects. */
export class ChannelClaims {
  private readonly channel: BroadcastChannel;
  private readonly me = Math.random().toString(36).slice(2);
  private readonly held = new Set<string>();
  private readonly asking = new Map<string, { refused: boolean }>();

  constructor(name: string) {
    this.channel = new BroadcastChannel(name);
    this.channel.addEventListener("message", ({ data }) => this.hear(data));
  }

  hold(answer: string): () => void {
    this.held.add(answer);
    return () => this.held.delete(answer);
  }

  claim(answer: string, granted: () => void): () => void {
    let timer: ReturnType<typeof setTimeout>;
    const ask = () => {
      const question = { refused: false };
      this.asking.set(answer, question);
      this.channel.postMessage({ answer, by: this.me, kind: "ask" } satisfies Claim);
      timer = setTimeout(() => {
        this.asking.delete(answer);
        if (question.refused) {
          timer = setTimeout(ask, askAgain);
          return;
        }
        this.held.add(answer);
        granted();
      }, askFor);
    };
    ask();
    return () => {
      clearTimeout(timer);
      this.asking.delete(answer);
      this.held.delete(answer);
    };
  }

  close(): void {
    this.channel.close();
  }

  private hear({ answer, by, kind }: Claim): void {
    const asking = this.asking.get(answer);
    // Of two that ask at the same time the one with the lower name has it.
    const mine = this.held.has(answer) || (asking !== undefined && !asking.refused && this.me < by);
    if (kind === "ask" && mine)
      this.channel.postMessage({ answer, by: this.me, kind: "held" } satisfies Claim);
    if (kind === "held" && asking !== undefined) asking.refused = true;
  }
}
