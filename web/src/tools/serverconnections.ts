// SPDX-License-Identifier: MIT

// Talks to MCP servers through the worker that may: the page itself calls its own server only.
import { language, t } from "../language/language.ts";
import { ClientNeeded, comeBack, type SignedIn, SignInNeeded, type WayIn } from "./signin.ts";
import type { Address, Ask, Reply, ServerOffer, ToolAnswer } from "./workerprotocol.ts";

/** Why nothing is heard of servers where the code for them is not there. */
export const unloaded = t(
  "the code that talks to MCP servers could not be loaded. If Penstock was updated meanwhile, reload the page",
);

const stopped = t("it was stopped");

type WithoutID<A> = A extends { id: number } ? Omit<A, "id"> : never;
type Question = WithoutID<Ask>;

/** The MCP servers, as far as this page talks to them. */
export class ServerConnections {
  private readonly waiting = new Map<
    number,
    { resolve(result: unknown): void; reject(problem: Error): void }
  >();
  private worker: Worker | undefined;
  private count = 0;

  /** keep is called with what this browser is to keep of a sign-in to a server. */
  constructor(private readonly keep: (url: string, signedIn: SignedIn | undefined) => void) {}

  /** Connects to a server, and asks what it has. A signal ends this and all that follows. */
  look(at: Address, signal?: AbortSignal): Promise<ServerOffer> {
    return this.ask({ does: "look", at: plain(at) }, signal) as Promise<ServerOffer>;
  }

  /** Has a server run one of its tools. */
  call(at: Address, name: string, given: Record<string, unknown>, signal?: AbortSignal): Promise<ToolAnswer> {
    return this.ask({ does: "call", at: plain(at), name, arguments: given }, signal) as Promise<ToolAnswer>;
  }

  /** The text of a resource. */
  read(at: Address, uri: string, signal?: AbortSignal): Promise<string> {
    return this.ask({ does: "read", at: plain(at), uri }, signal) as Promise<string>;
  }

  /** The text that a prompt makes of its arguments. */
  prompt(at: Address, name: string, given: Record<string, string>, signal?: AbortSignal): Promise<string> {
    return this.ask({ does: "prompt", at: plain(at), name, arguments: given }, signal) as Promise<string>;
  }

  /** Waits until a person has signed in, and ends the sign-in. */
  async signIn(way: WayIn, signal: AbortSignal): Promise<SignedIn> {
    const { code, iss } = await comeBack(way, signal);
    const ask = { does: "finish", state: way.state, code, iss } as const;
    return this.ask(ask, signal) as Promise<SignedIn>;
  }

  /** Has the worker forget a server, and the sign-in to it. */
  forget(at: Address): void {
    if (this.worker !== undefined) void this.ask({ does: "forget", at: plain(at) }).catch(() => {});
  }

  private ask(question: Question, signal?: AbortSignal): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(new Error(stopped)); // while this code was loaded
    const id = ++this.count;
    this.worker ??= this.start();
    const { worker } = this;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => {
        worker.postMessage({ id, does: "stop" } satisfies Ask);
        this.settle({ id, problem: stopped });
      });
      worker.postMessage({ ...question, id });
    });
  }

  private start(): Worker {
    const worker = new Worker(new URL("./mcp.worker.ts", import.meta.url), {
      type: "module",
      name: language,
    });
    worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.settle(data));
    worker.addEventListener("error", () => {
      this.worker = undefined;
      for (const id of [...this.waiting.keys()]) this.settle({ id, problem: unloaded });
    });
    return worker;
  }

  private settle(reply: Reply): void {
    if ("keep" in reply) {
      this.keep(reply.url, reply.keep);
      return;
    }
    const waiting = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ("way" in reply) waiting?.reject(new SignInNeeded(reply.way));
    else if ("problem" in reply)
      waiting?.reject(reply.client ? new ClientNeeded(reply.problem) : new Error(reply.problem));
    else waiting?.resolve(reply.result);
  }
}

/** What of a server the worker needs to know. */
function plain({ url, token, signedIn }: Address): Address {
  return { url, token, signedIn };
}
