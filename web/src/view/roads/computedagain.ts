// SPDX-License-Identifier: MIT

// Computes an answer again for its token record, which the page does not keep of every answer.
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { App } from "../../app.ts";
import type { Chat } from "../../chats/chat.ts";
import type { Message } from "../../chats/message.ts";
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { columnSettings, columnTitle } from "../../settings/strategies.ts";
import { mostTraced } from "../../trace/tokenitems.ts";
import { tracedAgain } from "../../trace/variations.ts";

/** How far the computation is. otherwise: what was written now is not what was written then. */
export type Standing = "idle" | "running" | "failed" | "otherwise" | "done";

/**
 * An answer that is computed again with its seed, which no chat keeps. Where it comes out the same,
 * its token record becomes the answer's.
 */
export class ComputedAgain {
  private readonly run: Signal<RunningAnswer | undefined> = signal(undefined);
  private readonly compared: Signal<"otherwise" | "done" | undefined> = signal(undefined);

  constructor(
    private readonly app: Pick<App, "answers" | "traces" | "request">,
    private readonly chat: Chat,
    private readonly id: string,
  ) {}

  readonly standing: ReadonlySignal<Standing> = computed(() => {
    const answer = this.run.value?.message.value.answer;
    if (answer === undefined) return "idle";
    if (answer.phase !== "done") return "running";
    if (answer.outcome?.reason === "error") return "failed";
    return this.compared.value ?? "running";
  });

  /** How many tokens there are, and of how many. */
  get progress(): { tokens: number; of: number } {
    const of = this.chat.tree.node(this.id).peek().answer?.tokens ?? 0;
    return { tokens: this.run.value?.message.value.answer?.tokens ?? 0, of: Math.min(of, mostTraced) };
  }

  /** Begins, if it has not begun. */
  start(): void {
    if (this.run.peek() !== undefined) return;
    const { parent, answer } = this.chat.tree.node(this.id).peek();
    const { model = "" } = answer ?? {};
    const chatSettings = this.chat.settings.peek();
    const column = chatSettings.columns?.find((one) => columnTitle(one) === answer?.column);
    const settings = tracedAgain(column ? columnSettings(chatSettings, column) : chatSettings, answer?.seed);
    const max_tokens = this.progress.of; // where somebody stopped it, it ended early
    const asked = { ...settings, sampling: { ...settings.sampling, max_tokens } };
    const request = this.app.request(model === "" ? asked : { ...asked, model }, this.chat.tree.upTo(parent));
    const run = this.app.answers.startUnkept(request);
    this.run.value = run;
    const stop = run.message.subscribe((message) => {
      if (message.answer?.phase !== "done") return;
      queueMicrotask(() => stop());
      void this.compare(message, run);
    });
  }

  stop(): void {
    const run = this.run.peek();
    if (run !== undefined) this.app.answers.stop(run);
  }

  /** Keeps the record, if it is one of what the answer says. */
  private async compare(now: Message, { pieces }: RunningAnswer): Promise<void> {
    const { chat, id } = this;
    if (now.answer?.outcome?.reason === "cancelled" || !chat.tree.has(id)) return;
    const same = isSame(now, chat.tree.node(id).peek());
    if (same) await this.app.traces.keep(id, chat.id, pieces);
    this.compared.value = same ? "done" : "otherwise";
  }
}

/** Whether an answer begins as it did then, of which it may have fewer tokens. */
export function isSame(
  now: Pick<Message, "content" | "reasoning">,
  then: Pick<Message, "content" | "reasoning">,
): boolean {
  if (now.content + (now.reasoning ?? "") === "") return false;
  return then.content.startsWith(now.content) && (then.reasoning ?? "").startsWith(now.reasoning ?? "");
}
