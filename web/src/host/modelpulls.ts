// SPDX-License-Identifier: MIT

// Has the server pull models from its hub, and follows how far each is.
import { type ReadonlySignal, signal } from "@preact/signals";
import { t } from "../language/language.ts";
import { record } from "../settings/settings.ts";
import { authorization, noAnswer, type Rest, refusalOf } from "./rest.ts";

/** A model on its way from the hub to the server. */
export interface Pull {
  name: string; // as a person gave it
  phase: "running" | "done" | "failed" | "stopped";
  text: string; // what the server does, or what went wrong, in its words
  done: number; // bytes
  total: number; // 0: not known
  model: string; // what it is called there; empty until the server has told
}

const longestLine = 64 * 1024; // characters
const mostEnded = 5; // pulls that are still listed

/** The pulls of this page. They go on while other views are shown, and end with the page. */
export class ModelPulls {
  private readonly pulls = signal<readonly Pull[]>([]);
  private readonly stops = new Map<string, AbortController>();

  constructor(private readonly rest: Pick<Rest, "address">) {}

  /** The newest first. */
  get list(): ReadonlySignal<readonly Pull[]> {
    return this.pulls;
  }

  /**
   * Pulls a model with the admin key; where it is on its way already, nothing happens. Resolves to
   * how it ended. Throws where the server refuses to begin, as without the right key.
   */
  async pull(name: string, key: string): Promise<Pull | undefined> {
    if (this.stops.has(name)) return undefined;
    const stop = new AbortController();
    this.stops.set(name, stop);
    try {
      const response = await fetch(this.rest.address("api/pull"), {
        method: "POST",
        headers: { ...authorization(key), "Content-Type": "application/json" },
        body: JSON.stringify({ model: name }),
        signal: stop.signal,
      }).catch(() => {
        throw new Error(noAnswer);
      });
      if (!response.ok) throw refusalOf(response.status, await response.text());
      this.put({ name, phase: "running", text: "", done: 0, total: 0, model: "" });
      return await this.follow(name, response, stop.signal);
    } finally {
      this.stops.delete(name);
    }
  }

  /** Stops a pull. What has come stays on the server, and the next pull goes on with it. */
  stop(name: string): void {
    this.stops.get(name)?.abort();
  }

  /** Lists a pull that has ended no more. */
  dismiss(name: string): void {
    if (!this.stops.has(name)) this.pulls.value = this.pulls.peek().filter((pull) => pull.name !== name);
  }

  private async follow(name: string, response: Response, stopped: AbortSignal): Promise<Pull> {
    try {
      for await (const line of linesOf(response)) {
        const { status, completed, total, error } = record(JSON.parse(line));
        if (typeof error === "string") return this.change(name, { phase: "failed", text: error });
        if (status === "success") return this.change(name, { phase: "done" });
        this.change(name, {
          text: typeof status === "string" ? status : "",
          ...(typeof total === "number" && { total, done: Number(completed ?? 0) || 0 }),
          ...modelIn(status),
        });
      }
      return this.change(name, { phase: "failed", text: lost });
    } catch {
      if (stopped.aborted) return this.change(name, { phase: "stopped", text: "" });
      return this.change(name, { phase: "failed", text: lost });
    }
  }

  private change(name: string, change: Partial<Pull>): Pull {
    const before = this.pulls.peek().find((pull) => pull.name === name);
    const now = {
      name,
      phase: "running",
      text: "",
      done: 0,
      total: 0,
      model: "",
      ...before,
      ...change,
    } as const;
    this.put(now);
    return now;
  }

  /** Takes the place of one with the same name. */
  private put(pull: Pull): void {
    const list = this.pulls.peek();
    const others = list.filter(({ name }) => name !== pull.name);
    const all =
      others.length === list.length
        ? [pull, ...list]
        : list.map((one) => (one.name === pull.name ? pull : one));
    const running = all.filter(({ phase }) => phase === "running");
    const ended = all.filter(({ phase }) => phase !== "running").slice(0, mostEnded);
    this.pulls.value = all.filter((one) => running.includes(one) || ended.includes(one));
  }
}

const lost = t("the connection to the server was lost: pull it again, and it continues");

/** The model in what the server says it pulls: "pulling NAME.gguf", or a part of several. */
function modelIn(status: unknown): { model?: string } {
  const [, model] = /^pulling (.+?)(?:-\d{5}-of-\d{5})?\.gguf$/.exec(String(status)) ?? [];
  return model === undefined ? {} : { model };
}

/** The lines of an answer as they come. Throws where one does not end. */
async function* linesOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value = "", done } = (await reader?.read()) ?? { done: true };
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > longestLine) throw new Error("a line does not end"); // untranslated: nobody reads it
    yield* lines.filter((line) => line.trim() !== "");
    if (!done) continue;
    if (rest.trim() !== "") yield rest;
    return;
  }
}
