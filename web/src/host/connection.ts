// SPDX-License-Identifier: MIT

// The WebSocket to the host, which reconnects by itself.
import { type ReadonlySignal, signal } from "@preact/signals";
import { t } from "../language/language.ts";
import { backoff } from "./backoff.ts";
import { type ClientFrame, type HostFrame, parseFrame } from "./protocol.ts";
import { KeyNeeded, Loading } from "./rest.ts";

export type ConnectionStatus =
  | { kind: "connecting" }
  | { kind: "online" }
  | { kind: "loading"; done: number } // the first model; done is from 0 to 1
  | { kind: "waiting"; retryAt: number; why: string } // retryAt in Date.now()'s milliseconds
  | { kind: "locked" }; // the host wants a key

export interface Transport {
  /** Resolves if the host would take us now; throws KeyNeeded or what is wrong. */
  probe(): Promise<void>;
  socket(): WebSocket;
}

const whileLoading = 500; // milliseconds between two questions for how far the model is

/**
 * A WebSocket that comes back. A browser does not tell why a WebSocket was refused, so each try
 * first asks the host over HTTP, which does: a key is missing, a model is still loading, nobody is
 * there.
 */
export class Connection {
  private readonly state = signal<ConnectionStatus>({ kind: "connecting" });
  private readonly listeners = new Set<(frame: HostFrame) => void>();
  private socket: WebSocket | undefined;
  private failures = 0;
  private leaving = false; // the page goes: that its socket is closed is no loss
  private trying = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly transport: Transport) {}

  get status(): ReadonlySignal<ConnectionStatus> {
    return this.state;
  }

  /** Calls listener with each frame of the host from now on, until the result is called. */
  listen(listener: (frame: HostFrame) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Connects now instead of at the end of a wait. Does nothing while online or already trying. */
  async connect(): Promise<void> {
    if (this.trying || this.state.peek().kind === "online") return;
    this.trying = true;
    clearTimeout(this.timer);
    if (this.failures === 0 && this.state.peek().kind !== "loading") this.become({ kind: "connecting" });
    try {
      await this.transport.probe();
      this.open();
    } catch (error) {
      this.trying = false;
      if (error instanceof KeyNeeded) this.become({ kind: "locked" });
      else if (error instanceof Loading) this.askAgain(error);
      else this.retryLater(error instanceof Error ? error.message : String(error));
    }
  }

  /** The page goes, or comes back from where the browser keeps pages. */
  leave(goes: boolean): void {
    this.leaving = goes;
    if (goes || this.socket !== undefined || this.state.peek().kind !== "online") return;
    this.become({ kind: "connecting" }); // it was lost meanwhile
    void this.connect();
  }

  /** Sends a frame; false if there is no connection to send it on. */
  send(frame: ClientFrame): boolean {
    if (this.state.peek().kind !== "online" || this.socket === undefined) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  /** Sends a binary frame; false as with send. */
  sendBytes(frame: Uint8Array<ArrayBuffer>): boolean {
    if (this.state.peek().kind !== "online" || this.socket === undefined) return false;
    this.socket.send(frame);
    return true;
  }

  private open(): void {
    const socket = this.transport.socket();
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.trying = false;
      this.failures = 0;
      this.become({ kind: "online" });
    });
    socket.addEventListener("message", (event) => {
      const frame = parseFrame(event.data);
      if (frame === undefined) return;
      for (const listener of this.listeners) listener(frame);
    });
    socket.addEventListener("close", () => {
      this.trying = false;
      this.socket = undefined;
      if (!this.leaving) this.retryLater(t("the connection was lost"));
    });
  }

  private askAgain({ done }: Loading): void {
    this.failures = 0;
    this.timer = setTimeout(() => void this.connect(), whileLoading);
    this.become({ kind: "loading", done });
  }

  private retryLater(why: string): void {
    const delay = backoff(this.failures++);
    this.timer = setTimeout(() => void this.connect(), delay);
    this.become({ kind: "waiting", retryAt: Date.now() + delay, why });
  }

  private become(status: ConnectionStatus): void {
    this.state.value = status;
  }
}
