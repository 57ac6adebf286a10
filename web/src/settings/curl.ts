// SPDX-License-Identifier: MIT

// The request of a chat as a curl command, and as a frame of the WebSocket.
import type { Message } from "../chats/message.ts";
import type { GenerateRequest } from "../host/protocol.ts";

const longestArgument = 100_000; // bytes; Linux takes 128 KiB
const end = "END";

/**
 * The command that sends a request with curl. A key is taken from the environment, and never
 * written out.
 */
export function curlCommand(base: URL, request: GenerateRequest, withKey: boolean): string {
  const body = JSON.stringify({ ...request, stream: true }, undefined, 2).replace(
    /"frame:(\w{8})\w*"/g,
    (_, file) => `"data:;base64,BASE64_OF_${file}"`, // to be put in: it may be long
  );
  const parts = [
    `curl -N ${quoted(new URL("v1/chat/completions", base).href)}`,
    "-H 'Content-Type: application/json'", // untranslated: a command
  ];
  if (withKey) parts.push('-H "Authorization: Bearer $PENSTOCK_API_KEY"'); // untranslated: a command
  // No line of JSON is END, as its texts have no line breaks.
  if (new TextEncoder().encode(body).length > longestArgument)
    return `${[...parts, `--data-binary @- <<'${end}'`].join(" \\\n  ")}\n${body}\n${end}`;
  return [...parts, `-d ${quoted(body)}`].join(" \\\n  ");
}

/** The frame that sends a request over the WebSocket. */
export function webSocketFrame(request: GenerateRequest): string {
  return JSON.stringify({ type: "generate", id: "a", request }, undefined, 2);
}

/** A text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The messages up to the last question: what answering it again would send. A chat without one
 * asks Hello.
 */
export function upToQuestion(messages: readonly Message[]): Message[] {
  const last = messages.findLastIndex((message) => message.role === "user");
  if (last >= 0) return messages.slice(0, last + 1);
  return [{ id: "", chat: "", parent: null, role: "user", created: 0, content: "Hello!" }];
}
