// SPDX-License-Identifier: MIT
// A small client of Penstock's WebSocket for browsers; docs/websocket.md explains the frames.

/** Connects to a URL such as ws://127.0.0.1:8080/v1/ws, with an API key if the server wants one. */
export function connect(url, key = "") {
  const protocols = ["penstock.v1"];
  if (key) protocols.push(`penstock.bearer.${base64url(key)}`);
  const socket = new WebSocket(url, protocols);
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve(new Connection(socket));
    socket.onerror = () => reject(new Error(`no connection to ${url}`));
  });
}

function base64url(text) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

class Connection {
  #socket;
  #answers = new Map();
  #count = 0;

  constructor(socket) {
    this.#socket = socket;
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      const id = frame.as ?? frame.id; // as: of a fork that was refused
      this.#answers.get(id)?.take(frame);
      if (frame.type === "end" || frame.as) this.#answers.delete(id);
    };
    socket.onclose = () => {
      for (const answer of this.#answers.values()) answer.take({ type: "lost" });
      this.#answers.clear();
    };
  }

  /**
   * Starts an answer to the body of a chat or text completion. Options are fields of the frame,
   * such as detach_ms.
   */
  generate(request, options = {}) {
    const answer = this.add();
    this.send({ type: "generate", id: answer.id, request, ...options });
    return answer;
  }

  add() {
    const answer = new Answer(this, `answer-${++this.#count}`);
    this.#answers.set(answer.id, answer);
    return answer;
  }

  send(frame) {
    this.#socket.send(JSON.stringify(frame));
  }

  close() {
    this.#socket.close();
  }
}

/**
 * An answer is an asynchronous iterable of its frames; end, or lost if the connection is, is the
 * last.
 */
class Answer {
  #frames = [];
  #wake = () => {};

  constructor(connection, id) {
    this.connection = connection;
    this.id = id;
  }

  take(frame) {
    this.#frames.push(frame);
    this.#wake();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#frames.length === 0) await new Promise((wake) => (this.#wake = wake));
      const frame = this.#frames.shift();
      yield frame;
      if (frame.type === "end" || frame.type === "lost" || frame.as) return;
    }
  }

  /**
   * Reads to the end and returns the text. A frame that was refused, a failed answer or a lost
   * connection is an error.
   */
  async text() {
    let text = "";
    for await (const frame of this) {
      if (frame.error || frame.type === "lost") throw new Error(frame.error?.message ?? "the connection is lost");
      if (frame.type === "rewound") text = text.slice(0, text.length - frame.removed.length);
      text += frame.text ?? "";
    }
    return text;
  }

  /**
   * Steers the answer: steer("pause"), steer("inject", {text: "…"}), steer("rewind", {tokens: 3}),
   * steer("set", {sampling: {…}}).
   */
  steer(type, fields = {}) {
    this.connection.send({ type, id: this.id, ...fields });
  }

  /**
   * Starts another answer that goes on from where this one is, with other sampling parameters if
   * wanted.
   */
  fork(sampling = {}) {
    const fork = this.connection.add();
    this.steer("fork", { as: fork.id, sampling });
    return fork;
  }
}
