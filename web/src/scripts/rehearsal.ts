// SPDX-License-Identifier: MIT

// Computes an answer anew with a script, whenever somebody pauses while writing it.
import { type Signal, signal } from "@preact/signals";
import type { RunningAnswer } from "../chats/runninganswer.ts";
import type { GenerateRequest } from "../host/protocol.ts";
import { KeyNeeded, Refused } from "../host/rest.ts";
import { type Checked, type ScriptError, type ScriptQuestion, scriptError } from "../host/scriptroutes.ts";
import { t } from "../language/language.ts";
import { parsedJSON } from "../text/parsedjson.ts";
import { sentence, withoutPaths } from "../text/sentence.ts";

const pause = 400; // milliseconds without a change

/** A run of a script: an answer that no chat keeps. */
export type Run = Pick<RunningAnswer, "message" | "pieces">;

/** What a rehearsal needs of the app. */
export interface Stage<R extends Run = Run> {
  check(script: ScriptQuestion, signal: AbortSignal): Promise<Checked>;
  start(request: GenerateRequest): R;
  stop(run: R): void; // if it runs
}

/** A script, and the request for an answer with it. */
export interface Attempt {
  source: string; // blank: the answer without a script
  config: string; // JSON
  request: GenerateRequest;
}

/**
 * Runs each attempt at a script once nothing has changed for a while, if the host finds it sound.
 */
export class Rehearsal<R extends Run = Run> {
  readonly run: Signal<R | undefined> = signal(undefined);
  readonly before: Signal<R | undefined> = signal(undefined); // the run before that came to its end
  readonly error: Signal<ScriptError | undefined> = signal(undefined); // of the script
  readonly configError = signal("");
  readonly refusal: Signal<Refusal | undefined> = signal(undefined);
  readonly checked: Signal<Checked | undefined> = signal(undefined);
  readonly pending = signal(false); // a change is not answered yet
  private key = ""; // of the newest attempt
  private timer: ReturnType<typeof setTimeout> | undefined;
  private checking: AbortController | undefined;

  constructor(private readonly stage: Stage<R>) {}

  /**
   * Runs an attempt after a pause, in place of all before it. One that is the same changes nothing.
   */
  change(attempt: Attempt): void {
    const key = JSON.stringify(attempt);
    if (key === this.key) return;
    const first = this.key === "";
    this.key = key;
    this.forgetPlans();
    this.pending.value = true;
    this.timer = setTimeout(() => void this.attempt(attempt), first ? 0 : pause);
  }

  /** Ends what runs and what is planned. The next change is run even if it changes nothing. */
  stop(): void {
    this.forgetPlans();
    this.pending.value = false;
    this.key = "";
    if (this.run.peek() !== undefined) this.stage.stop(this.run.peek() as R);
  }

  private forgetPlans(): void {
    clearTimeout(this.timer);
    this.checking?.abort();
  }

  private async attempt(attempt: Attempt): Promise<void> {
    const checking = new AbortController();
    this.checking = checking;
    const sound = await this.isSound(attempt, checking.signal);
    if (checking.signal.aborted) return;
    this.pending.value = false;
    if (!sound) return;
    const last = this.run.peek();
    if (last !== undefined && cameToItsEnd(last)) this.before.value = last;
    if (last !== undefined) this.stage.stop(last);
    this.run.value = this.stage.start(attempt.request);
  }

  /** Whether the host would take the script; what it says is then known. */
  private async isSound({ source, config, request }: Attempt, signal: AbortSignal): Promise<boolean> {
    const { problem = "", ...parsed } = parsedJSON(config);
    this.configError.value = problem;
    if (problem !== "") return false;
    const { model } = request;
    let checked: Checked = { implements: [] };
    let refusal: Refusal | undefined;
    if (source.trim() !== "") {
      try {
        const script = { source, ...(parsed.value !== undefined && { config: parsed.value }) };
        checked = await this.stage.check({ ...script, ...(model !== undefined && { model }) }, signal);
      } catch (error) {
        refusal = refusalOf(error);
      }
    }
    if (signal.aborted) return false;
    this.refusal.value = refusal;
    this.checked.value = checked;
    const { error } = checked;
    this.error.value = error?.ofConfig ? undefined : error;
    this.configError.value = error?.ofConfig ? sentence(error.message) : "";
    return refusal === undefined && error === undefined;
  }
}

function cameToItsEnd({ message, pieces }: Run): boolean {
  const outcome = message.peek().answer?.outcome;
  return (
    pieces.length > 0 && outcome !== undefined && (outcome.reason === "stop" || outcome.reason === "length")
  );
}

/** Why the host does not even look at a script, and what helps. */
export interface Refusal {
  said: string;
  help: "allow" | "update" | "again";
}

/** What an error of the check says of why. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof KeyNeeded)
    return { said: t("The server wants a key. Reload the page to enter it."), help: "again" };
  const said = withoutPaths(sentence(error instanceof Error ? error.message : String(error)));
  if (!(error instanceof Refused)) return { said, help: "again" };
  if (error.status === 403) return { said, help: "allow" };
  if (error.status === 404 || error.status === 405)
    return { said: t("This server knows no scripts."), help: "update" };
  return { said, help: "again" };
}

/** What the error of a run says of its script; undefined where it says nothing of it. */
export function errorOfRun(run: Run | undefined): ScriptError | undefined {
  const error = run?.message.value.answer?.outcome?.error;
  if (error === undefined) return undefined;
  const said = scriptError(error);
  return said.line === undefined ? undefined : said;
}
