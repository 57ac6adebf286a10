// SPDX-License-Identifier: MIT
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Server } from "../../../web/test/server.ts";

export const key = "client-key";
export const model = "tiny";
const context = 8192; // tokens: an answer that ignores its end takes about a second
const patience = 120_000; // milliseconds
const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * The real host with the built-in model under the name of model, and with key as the only API key.
 */
export class Host {
  private constructor(
    private readonly server: Server,
    private readonly folder?: string, // of its own
  ) {}

  static async start(...flags: string[]): Promise<Host> {
    return new Host(await Server.start({ context, flags: ["--api-key", key, ...flags] }));
  }

  /**
   * Starts it with a template that knows tools, which the built-in model's own does not. The model
   * has not learned to call them, so its calls are made by the template's grammar: with this
   * template that begins at once, if the model may not think before.
   */
  static withTools(): Promise<Host> {
    const fetched = execFileSync("native/llama.cpp/fetch.sh", ["build/llama.cpp"], { cwd: root });
    const source = fetched.toString().trim();
    const template = resolve(root, source, "models/templates/Cohere2MoE.jinja");
    return Host.start("--chat-template-file", template, "--reasoning-budget", "0");
  }

  /**
   * Starts it with a small model that sees and hears, whose weights are random: its answers depend
   * on what it is shown.
   */
  static async withMedia(): Promise<Host> {
    const folder = mkdtempSync(join(tmpdir(), "penstock-media-"));
    const command = ["run", "./tools/synthgguf", "-media", "mlp+ultravox", "-o", folder];
    const [text = "", projector = ""] = execFileSync("go", command, { cwd: root }).toString().split("\n");
    const flags = ["--model", text, "--mmproj", projector, "--alias", model, "--api-key", key];
    return new Host(await Server.start({ flags }), folder);
  }

  get url(): string {
    return this.server.url;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    if (this.folder) rmSync(this.folder, { recursive: true });
  }

  /** Resolves when no slot of the host is busy. */
  async idle(): Promise<void> {
    for (const end = Date.now() + patience; (await this.busySlots()) > 0; ) {
      if (Date.now() > end) throw new Error(`a slot is still busy after ${patience} ms`);
    }
  }

  private async busySlots(): Promise<number> {
    const response = await fetch(`${this.url}/slots`, { headers: { Authorization: `Bearer ${key}` } });
    const slots = (await response.json()) as { is_processing: boolean }[];
    return slots.filter((slot) => slot.is_processing).length;
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
