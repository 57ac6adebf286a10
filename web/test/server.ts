// SPDX-License-Identifier: MIT
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { writeModel } from "./model.ts";

const built = fileURLToPath(new URL("../../bin/penstock", import.meta.url));
const binary = resolve(process.env.PENSTOCK_BIN ?? built);
// Its configuration comes from the flags alone.
const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("PENSTOCK_"));
const patience = 120_000; // milliseconds; the machine may be busy

// Of this many milliseconds a server of long answers computes one part and stands still in the
// other.
const pace = { runs: 10, stands: 40 };

// One thread: several would wait for each other on a machine that is busy with other tests.
const always = ["--log-level", "error", "--threads", "1"];

export interface Options {
  flags?: string[];
  address?: string;
  context?: number; // tokens
  pair?: boolean; // both built-in models, as where none is named
}

/** The real host with the built-in model that reads text, on a free port of this machine. */
export class Server {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
    private pacer?: NodeJS.Timeout,
  ) {}

  /**
   * Starts it with these flags of `penstock serve`, on the address of an earlier one if given.
   * Where context is given, answers may go on that long, for many seconds.
   */
  static async start({
    flags = [],
    address = "127.0.0.1:0",
    context = 0,
    pair = false,
  }: Options = {}): Promise<Server> {
    if (!existsSync(binary))
      throw new Error(`there is no ${binary}: run \`make build\`, or set PENSTOCK_BIN`);
    const folder = mkdtempSync(join(tmpdir(), "penstock-web-")); // no penstock.yaml and no plugins by chance
    const model = join(folder, "tiny.gguf");
    if (context > 0) {
      writeModel(model, context);
      flags = ["--model", model, "--ctx-size", String(2 * context), ...flags];
    } else if (!pair && !flags.some((flag) => flag.startsWith("--model"))) {
      flags = ["--model", "penstock-tiny", ...flags];
    }
    const child = spawn(binary, ["serve", "--listen", address, ...always, ...flags], {
      cwd: folder,
      env: Object.fromEntries(environment),
      stdio: ["ignore", "pipe", "inherit"],
    });
    // Where others want the processors, too, the page has them first.
    if (context > 0 && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
    const url = await firstLine(child);
    const server = new Server(url, child, folder);
    await server.ready();
    if (context > 0) server.walk();
    return server;
  }

  /**
   * Has it stand still most of the time: a busy browser still finds a long answer before it is
   * over.
   */
  private walk(): void {
    this.pacer = setInterval(() => {
      this.child.kill("SIGSTOP");
      setTimeout(() => this.child.kill("SIGCONT"), pace.stands);
    }, pace.runs + pace.stands);
    process.once("exit", () => this.child.kill("SIGKILL"));
  }

  get address(): string {
    return new URL(this.url).host;
  }

  /** Ends it: in order with SIGTERM, at once with SIGKILL. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      clearInterval(this.pacer);
      this.child.kill("SIGCONT");
      this.child.kill(signal);
      await once(this.child, "exit");
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Resolves when it computes n answers. */
  async runs(n: number): Promise<void> {
    for (const end = Date.now() + patience; (await this.running()) !== n; ) {
      if (Date.now() > end)
        throw new Error(`the host still computes ${await this.running()} answers, not ${n}`);
    }
  }

  private async running(): Promise<number> {
    const metrics = await (await fetch(`${this.url}/metrics`)).text();
    const value = /^penstock_num_requests_running\S* (\d+)/m.exec(metrics)?.[1];
    if (value === undefined) throw new Error("/metrics has no penstock_num_requests_running");
    return Number(value);
  }

  private async ready(): Promise<void> {
    for (const end = Date.now() + patience; Date.now() < end; ) {
      const response = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (response?.ok) return;
      await new Promise((again) => setTimeout(again, 50));
    }
    throw new Error(`the server was not ready after ${patience} ms`);
  }
}

/** The first line that a server prints is its URL. */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the server's output is not piped");
  const lines = createInterface(child.stdout);
  const line = once(lines, "line").then(([text]) => String(text).trim().replace(/\/$/, ""));
  const gone = once(child, "exit").then(([code]) => {
    throw new Error(`the server ended with ${code} before it served`);
  });
  return Promise.race([line, gone]);
}
