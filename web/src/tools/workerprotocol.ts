// SPDX-License-Identifier: MIT

// What the page and the worker that speaks MCP tell each other.
import type { FunctionDefinition } from "../host/protocol.ts";
import type { SignedIn, WayIn } from "./signin.ts";

/** Where a server is, and what it wants. */
export interface Address {
  url: string;
  token: string; // "": none
  signedIn?: SignedIn | undefined; // by OAuth
}

/** What the page asks. Each question has an id, which its answer bears. */
export type Ask = { id: number } & (
  | { does: "look"; at: Address }
  | { does: "call"; at: Address; name: string; arguments: Record<string, unknown> }
  | { does: "read"; at: Address; uri: string }
  | { does: "prompt"; at: Address; name: string; arguments: Record<string, string> }
  | { does: "finish"; state: string; code: string; iss: string } // of a sign-in
  | { does: "forget"; at: Address } // what is known of the server
  | { does: "stop" } // the question with this id
);

export type Reply =
  | { id: number; result: unknown }
  | { id: number; problem: string; client?: true } // the client has to be registered by a person
  | { id: number; way: WayIn } // a person has to sign in
  | { keep: SignedIn | undefined; url: string }; // tells what is to be kept of a sign-in to a server

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
