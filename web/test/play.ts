// SPDX-License-Identifier: MIT
import type { Page, WebSocketRoute } from "playwright-core";
import type {
  ClientFrame,
  EndFrame,
  GenerateRequest,
  HostFrame,
  PartsFrame,
  TokenTrace,
} from "../src/host/protocol.ts";

/** A stream of the page that the test answers instead of the host. */
export class PlayedStream {
  private seq = 1; // started is event 0

  constructor(
    private readonly socket: WebSocketRoute,
    readonly id: string,
    readonly request: GenerateRequest,
  ) {}

  token(text: string, trace?: TokenTrace): void {
    this.frame({ type: "token", id: this.id, seq: this.seq++, text, ...(trace && { trace }) });
    this.frame({ type: "parts", id: this.id, content: text });
  }

  /** What the host's parser finds in tokens, such as reasoning and tool calls. */
  parts(parts: Omit<PartsFrame, "type" | "id">): void {
    this.frame({ type: "token", id: this.id, seq: this.seq++, text: "" });
    this.frame({ type: "parts", id: this.id, ...parts });
  }

  end(end: Partial<EndFrame> = {}): void {
    this.frame({ type: "end", id: this.id, reason: "stop", ...end });
  }

  started(stream = "played"): void {
    const facts = { stream, model: "played", prompt_tokens: 1, cached_tokens: 0 };
    this.frame({ type: "started", id: this.id, ...facts });
  }

  /** Sends any frame, also one that belongs to no stream. */
  frame(frame: HostFrame): void {
    this.socket.send(JSON.stringify(frame));
  }
}

/**
 * Answers the page's WebSocket in the host's place, for what no host does on request: a text of
 * our choice, frames that make no sense, a pace of our own. other gets the frames that ask for no
 * answer, and bytes the binary ones. Everything else on the page still comes from the host.
 */
export async function play(
  page: Page,
  answer: (stream: PlayedStream) => void,
  other: (frame: ClientFrame) => void = () => {},
  bytes: (frame: Buffer) => void = () => {},
): Promise<void> {
  await page.routeWebSocket(/\/v1\/ws$/, (socket) => {
    socket.onMessage((data) => {
      if (typeof data !== "string") return bytes(data);
      const frame = JSON.parse(String(data));
      if (frame.type !== "generate") return other(frame);
      const stream = new PlayedStream(socket, frame.id, frame.request);
      stream.started();
      answer(stream);
    });
  });
}
