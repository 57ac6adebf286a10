// SPDX-License-Identifier: MIT
import { once } from "node:events";
import { connect, createServer, type Server as Listener, type Socket } from "node:net";

const tick = 50; // milliseconds

/**
 * Stands between the browser and the host, and loses their connections when the test says so. What
 * the host says over a WebSocket can be slowed down, so that a test has time in the middle of an
 * answer.
 */
export class LossyProxy {
  private readonly sockets = new Set<Socket>();
  cuts = 0; // connections lost so far
  pace = Number.POSITIVE_INFINITY; // bytes that a WebSocket brings in each tick

  private constructor(
    readonly url: string,
    private readonly listener: Listener,
  ) {}

  static async start(target: string): Promise<LossyProxy> {
    const { hostname, port } = new URL(target);
    const listener = createServer();
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    const proxy = new LossyProxy(`http://127.0.0.1:${address.port}`, listener);
    listener.on("connection", (near) => proxy.join(near, connect(Number(port), hostname)));
    return proxy;
  }

  /** Loses all connections at once, with whatever is on its way. */
  cut(): void {
    this.cuts += this.sockets.size;
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.listener.close();
    await once(this.listener, "close");
  }

  private join(near: Socket, far: Socket): void {
    near.pipe(far);
    near.once("data", (head) => {
      if (/upgrade: websocket/i.test(head.toString("latin1"))) this.trickle(far, near);
      else far.pipe(near);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on("error", () => {}); // "close" follows
      socket.on("close", () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
  }

  private trickle(from: Socket, to: Socket): void {
    let waiting = Buffer.alloc(0);
    from.on("data", (data) => {
      waiting = Buffer.concat([waiting, data]);
    });
    const timer = setInterval(() => {
      const now = waiting.subarray(0, Math.min(this.pace, waiting.length));
      waiting = waiting.subarray(now.length);
      if (now.length > 0) to.write(now);
    }, tick);
    to.on("close", () => clearInterval(timer));
  }
}
