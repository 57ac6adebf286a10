// SPDX-License-Identifier: MIT
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, setPriority, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { writeModel, writePerceiving } from "./model.ts";
import { Shared } from "./shared.ts";
import { examplePlugin } from "./wasm.ts";

const built = fileURLToPath(new URL("../../bin/penstock", import.meta.url));
const binary = resolve(process.env.PENSTOCK_BIN ?? built);
// Its configuration comes from the flags alone.
const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("PENSTOCK_"));
const patience = 120_000; // milliseconds; the machine may be busy

// Of this many milliseconds a slow server computes one part and stands still in the other.
const pace = { runs: 10, stands: 40 };

// One thread: several would wait for each other on a machine that is busy with other tests.
const always = ["--log-level", "error", "--threads", "1"];

export interface Options {
  flags?: string[];
  address?: string;
  context?: number; // tokens: answers may be as long
  pair?: boolean; // both built-in models, as where none is named
  models?: string[]; // copies of the built-in model under these names, in a folder of its own
  perceives?: boolean; // a small random model that sees and hears
  plugins?: (string | Plugin)[]; // examples by their names, and others, in a folder of its own
}

export interface Plugin {
  file: string;
  bytes: Buffer | string;
}

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL"); // those of tests that were cut off
});

/** The real host with the built-in model that reads text, on a free port of this machine. */
export class Server {
  private slowed = 0; // by so many callers
  private pacer: NodeJS.Timeout | undefined;

  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    running.add(child);
  }

  /** Starts it with these flags of `penstock serve`, on the address of an earlier one if given. */
  static async start({
    flags = [],
    address = "127.0.0.1:0",
    context = 0,
    pair = false,
    models,
    perceives = false,
    plugins,
  }: Options = {}): Promise<Server> {
    if (!existsSync(binary))
      throw new Error(`there is no ${binary}: run \`make build\`, or set PENSTOCK_BIN`);
    const folder = mkdtempSync(join(tmpdir(), "penstock-web-")); // no penstock.yaml and no plugins by chance
    if (context > 0) {
      const model = join(folder, "tiny.gguf");
      writeModel(model, context);
      flags = ["--model", model, "--ctx-size", String(2 * context), ...flags];
    } else if (models !== undefined) {
      for (const name of models) writeModel(join(folder, `${name}.gguf`), 1000);
      flags = ["--models-dir", folder, ...flags];
    } else if (perceives) {
      const [text = "", projector = ""] = writePerceiving(folder);
      flags = ["--model", text, "--mmproj", projector, ...flags];
    } else if (!pair && !flags.includes("--model")) {
      flags = ["--model", "penstock-tiny", ...flags];
    }
    if (plugins !== undefined) {
      addPlugins(join(folder, "plugins"), plugins);
      flags = ["--plugin-dir", join(folder, "plugins"), ...flags];
    }
    const child = spawn(binary, ["serve", "--listen", address, ...always, ...flags], {
      cwd: folder,
      env: { ...Object.fromEntries(environment), PENSTOCK_PLUGINS_BUNDLED: "off" }, // a checkout may have them or not
      stdio: ["ignore", "pipe", "inherit"],
    });
    // Where others want the processors, too, the page has them first.
    if (context > 0 && child.pid !== undefined)
      setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const url = await firstLine(child);
    const server = new Server(url, child, folder);
    await server.ready();
    return server;
  }

  /**
   * Has it stand still most of the time, until the function returned is called: a busy browser
   * still finds a long answer before it is over.
   */
  slow(): () => void {
    this.slowed++;
    this.pacer ??= setInterval(() => {
      this.child.kill("SIGSTOP");
      setTimeout(() => this.child.kill("SIGCONT"), pace.stands);
    }, pace.runs + pace.stands);
    return () => {
      this.slowed--;
      if (this.slowed > 0) return;
      clearInterval(this.pacer);
      this.pacer = undefined;
    };
  }

  /** Its plugin folder. */
  get plugins(): string {
    return join(this.folder, "plugins");
  }

  get address(): string {
    return new URL(this.url).host;
  }

  /** Ends it: in order with SIGTERM, at once with SIGKILL. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    clearInterval(this.pacer);
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill("SIGCONT");
      this.child.kill(signal);
      await once(this.child, "exit");
    }
    running.delete(this.child);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Resolves when it computes n answers. */
  async runs(n: number): Promise<void> {
    for (const end = Date.now() + patience; (await this.running()) !== n; ) {
      if (Date.now() > end)
        throw new Error(`the host still computes ${await this.running()} answers, not ${n}`);
      await new Promise((again) => setTimeout(again, 20));
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

function addPlugins(folder: string, plugins: NonNullable<Options["plugins"]>): void {
  mkdirSync(folder);
  for (const plugin of plugins)
    if (typeof plugin === "string") copyFileSync(examplePlugin(plugin), join(folder, `${plugin}.wasm`));
    else writeFileSync(join(folder, plugin.file), plugin.bytes);
}

export type UsedServer = Pick<Server, "url" | "address" | "plugins" | "slow" | "runs">;
const shared = new Map<string, Shared<Server>>();

/**
 * Gives a test file the server with these options, which other files of this process use as well:
 * its tests leave no answer running, and do not stop it.
 */
export function useServer(options: Options = {}): UsedServer {
  const key = JSON.stringify(options);
  const server =
    shared.get(key) ??
    new Shared(
      () => Server.start(options),
      (it) => it.stop(),
    );
  shared.set(key, server);
  server.use();
  return {
    get url() {
      return server.it.url;
    },
    get address() {
      return server.it.address;
    },
    get plugins() {
      return server.it.plugins;
    },
    slow: () => server.it.slow(),
    runs: (n) => server.it.runs(n),
  };
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
