// SPDX-License-Identifier: MIT

// What the page and the worker that speaks MCP tell each other.
import type { FunctionDefinition } from "../host/protocol.ts";

/** Where a server is, and what it wants. */
export interface Address {
  url: string;
  token: string; // "": none
}

/** What the page asks. Each question has an id, which its answer bears. */
export type Ask = { id: number } & (
  | { does: "look"; at: Address }
  | { does: "call"; at: Address; name: string; arguments: Record<string, unknown> }
  | { does: "read"; at: Address; uri: string }
  | { does: "prompt"; at: Address; name: string; arguments: Record<string, string> }
  | { does: "stop" } // the question with this id
);

export type Reply = { id: number; result: unknown } | { id: number; problem: string };

/** What a server has. */
export interface ServerOffer {
  name: string;
  tools: FunctionDefinition[];
  resources: { uri: string; name: string; description: string }[];
  prompts: { name: string; description: string; parameters: { name: string; required: boolean }[] }[];
}

/** What a tool has answered. */
export interface ToolAnswer {
  text: string;
  failed: boolean; // the text says why
}
