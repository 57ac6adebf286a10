// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Options, type UsedServer, useServer } from "../../../web/test/server.ts";

export const key = "client-key";
export const model = "tiny";
const context = 8192; // tokens: an answer that ignores its end takes a second
const patience = 120_000; // milliseconds
const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * The real host with the built-in model under the name of model, and with key as the only API key.
 * The test files of a process share those of the same kind.
 */
export class Host {
  private readonly server: UsedServer;

  private constructor(options: Options) {
    this.server = useServer({ ...options, flags: ["--api-key", key, ...(options.flags ?? [])] });
  }

  static use(): Host {
    return new Host({ context, flags: ["--embeddings"] });
  }

  /**
   * With a template that knows tools, which the built-in model's own does not. The model has not
   * learned to call them, so its calls are made by the template's grammar: with this template that
   * begins at once, if the model may not think before.
   */
  static withTools(): Host {
    const fetched = execFileSync("native/llama.cpp/fetch.sh", ["build/llama.cpp"], { cwd: root });
    const source = fetched.toString().trim();
    const template = resolve(root, source, "models/templates/Cohere2MoE.jinja");
    return new Host({ context, flags: ["--chat-template-file", template, "--reasoning-budget", "0"] });
  }

  /**
   * With a small model that sees and hears, whose weights are random: its answers depend on what it
   * is shown.
   */
  static withMedia(): Host {
    return new Host({ perceives: true, flags: ["--alias", model] });
  }

  get url(): string {
    return this.server.url;
  }

  /** Checks that no slot stays busy once leave has begun an answer without end and aborted it. */
  async freed(leave: () => Promise<void>): Promise<void> {
    const quick = this.server.slow();
    let before: number;
    try {
      before = await this.tokens();
      await leave();
      await this.idle();
    } finally {
      quick();
    }
    const made = (await this.tokens()) - before;
    assert.ok(made < context / 2, `the answer went on: it has ${made} tokens`);
  }

  private async idle(): Promise<void> {
    for (const end = Date.now() + patience; (await this.busySlots()) > 0; ) {
      if (Date.now() > end) throw new Error(`a slot is still busy after ${patience} ms`);
    }
  }

  /** How many tokens all answers have had. */
  private async tokens(): Promise<number> {
    const metrics = await (await this.get("/metrics")).text();
    const value = /^llamacpp:tokens_predicted_total\S* (\d+)/m.exec(metrics)?.[1];
    if (value === undefined) throw new Error("/metrics has no llamacpp:tokens_predicted_total");
    return Number(value);
  }

  private async busySlots(): Promise<number> {
    const slots = (await (await this.get("/slots")).json()) as { is_processing: boolean }[];
    return slots.filter((slot) => slot.is_processing).length;
  }

  private get(path: string): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers: { Authorization: `Bearer ${key}` } });
  }
}

/** The error of this class that a promise is rejected with. */
export async function refusal<E extends Error>(
  kind: abstract new (...args: never[]) => E,
  promise: PromiseLike<unknown>,
): Promise<E> {
  const outcome = await promise.then(
    () => new Error(`nothing failed; ${kind.name} was expected`),
    (error) => error,
  );
  if (outcome instanceof kind) return outcome;
  throw outcome;
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
