// SPDX-License-Identifier: MIT
import { Conversation, type Exchange } from "./conversation.ts";
import type { GenerateRequest, Message } from "./protocol.ts";
import type { End, Stream, Streams } from "./streams.ts";

export interface Choices {
  /** The system prompt in force. */
  system(): string;
  /** The request for an answer to messages, with all settings in force. */
  request(messages: Message[]): GenerateRequest;
}

/** What a person can do: ask, stop, ask again, start over. One answer at a time. */
export class Chat {
  readonly conversation = new Conversation();
  private stream: Stream | undefined;

  constructor(
    private readonly streams: Pick<Streams, "generate">,
    private readonly choices: Choices,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get busy(): boolean {
    const last = this.conversation.last;
    return last !== undefined && last.phase !== "done";
  }

  send(question: string): void {
    if (this.busy || question.trim() === "") return;
    this.answer(this.conversation.add(question.trim()));
  }

  /** Stops the answer at once: what is still on its way is not shown. */
  stop(): void {
    const last = this.conversation.last;
    if (last === undefined || last.phase === "done" || last.phase === "stopping") return;
    this.conversation.change(last, { phase: "stopping" });
    this.stream?.cancel();
  }

  regenerate(): void {
    const last = this.conversation.last;
    if (this.busy || last === undefined) return;
    delete last.outcome;
    this.conversation.change(last, { answer: "", pieces: 0, traces: [], phase: "waiting" });
    this.answer(last);
  }

  reset(): void {
    this.stop();
    this.conversation.clear();
  }

  private answer(exchange: Exchange): void {
    let firstToken = 0;
    const request = this.choices.request(this.conversation.prompt(this.choices.system()));
    this.stream = this.streams.generate(request, {
      token: (text, trace) => {
        if (exchange.phase === "stopping") return;
        if (exchange.pieces === 0) firstToken = this.now();
        if (trace !== undefined) exchange.traces.push(trace);
        const { answer, pieces } = exchange;
        this.conversation.change(exchange, { answer: answer + text, pieces: pieces + 1, phase: "streaming" });
      },
      end: (end) => this.finish(exchange, end, (this.now() - firstToken) / 1000),
    });
  }

  private finish(exchange: Exchange, end: End, seconds: number): void {
    const tokens = end.usage?.completion_tokens ?? exchange.pieces;
    // Between the first token and the last lie one step fewer than there are tokens.
    const ours = exchange.pieces > 1 && seconds > 0 ? (exchange.pieces - 1) / seconds : 0;
    const perSecond = end.timings?.predicted_per_second ?? ours;
    const outcome = { reason: end.reason, tokens, perSecond, ...(end.error && { error: end.error }) };
    this.conversation.change(exchange, { phase: "done", outcome });
  }
}
