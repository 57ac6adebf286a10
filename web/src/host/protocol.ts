// SPDX-License-Identifier: MIT

// The frames of the WebSocket /v1/ws, as docs/websocket.md describes them: text frames, one JSON
// object each. fileframes.ts has the binary ones.
import type { LiveFrame } from "../live/liveframe.ts";

export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A function that the model may call, as a request tells it. */
export interface FunctionDefinition {
  name: string;
  description: string;
  parameters: Record<string, unknown>; // a JSON schema of an object
}

/** A part of a message with pictures or sounds. */
export type ContentPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string } };

/** One message of a request. */
export interface RequestMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | ContentPart[];
  reasoning_content?: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

/** Sampling parameters by the host's names. An absent one leaves the host's default. */
export type Sampling = Record<string, unknown>;

/** The body of a chat completion, as far as this page uses it. */
export interface GenerateRequest extends Sampling {
  model?: string;
  messages: RequestMessage[];
}

export type ClientFrame =
  | { type: "generate"; id: string; request: GenerateRequest; detach_ms?: number; parts?: boolean }
  | { type: "attach"; id: string; stream: string; after: number }
  | { type: "cancel" | "pause" | "resume"; id: string }
  | { type: "set"; id: string; sampling: Sampling }
  | { type: "inject"; id: string; text: string }
  | { type: "rewind"; id: string; tokens: number }
  | { type: "fork"; id: string; as: string; sampling?: Sampling; detach_ms?: number; parts?: boolean }
  | { type: "watch"; every_ms: number };

export type EndReason = "stop" | "length" | "cancelled" | "error" | "tool_calls";

export interface HostError {
  message: string;
  type?: string;
  code?: string | number | null;
  param?: string | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

/** llama-server's names; the host may send more than this page reads. */
export interface Timings {
  queued_ms?: number;
  prompt_ms?: number;
  predicted_ms?: number;
  predicted_per_second?: number; // tokens a second after the first
}

export interface StartedFrame {
  type: "started";
  id: string;
  stream: string; // names the answer for attach
  model: string;
  seed?: number; // of the request, or drawn by the host
  prompt_tokens: number;
  cached_tokens: number;
}

export interface TokenFrame {
  type: "token";
  id: string;
  seq: number;
  text: string;
  token_id?: number; // absent from text that was held back until the end
  trace?: TokenTrace;
}

/**
 * What the host's parser finds in an answer: more of its content, of its reasoning, and of its
 * tool calls.
 */
export interface PartsFrame {
  type: "parts";
  id: string;
  reset?: boolean; // it has all so far: what the frames before said counts no more
  content?: string;
  reasoning?: string;
  calls?: CallDelta[];
}

/** The begin of a tool call, with its id and name, or more of its arguments. */
export interface CallDelta {
  index: number;
  id?: string;
  /** Not there in a call of a custom tool, which the page offers none of. */
  function?: { name?: string; arguments: string };
}

/** The last tokens are taken back, and removed, the end of the text so far, with them. */
export interface RewoundFrame {
  type: "rewound";
  id: string;
  seq: number;
  tokens: number;
  removed: string;
}

/** A value that a plugin tells the client, and after how many tokens of the answer. */
export interface PluginOutput {
  plugin: string;
  tokens: number;
  value: unknown; // any JSON
}

export interface OutputFrame extends PluginOutput {
  type: "output";
  id: string;
  seq: number;
}

/** What has become of a program's branches since the last frame. */
export interface BranchesFrame {
  type: "branches";
  id: string;
  seq: number;
  branches: BranchChange[];
  left_out?: number; // tokens that are not told
}

/**
 * What has become of one branch. The first of a branch has at, and parent where it goes on from
 * another.
 */
export interface BranchChange {
  branch: number; // from 1 on
  parent?: number;
  at?: number; // where its own tokens begin, counted in tokens from the beginning of the prompt
  tokens?: BranchToken[]; // that it has gained
  score?: number; // the sum of the log-probabilities of its tokens, those of its parents included
  dropped?: boolean;
  chosen?: number; // the answer is its tokens up to there, counted as at
  choice?: number; // of several answers
}

export interface BranchToken extends TokenName {
  logprob?: number; // natural logarithm; absent: it is not known
}

/** An answer is held, or goes on. */
export interface StateFrame {
  type: "paused" | "resumed";
  id: string;
}

/**
 * How a token came into an answer: who put it there, what the model says, and what each stage of
 * the chain left.
 */
export interface TokenTrace extends TokenName {
  how: "chosen" | "forced" | "spliced" | "injected";
  by: string; // a stage such as "dist" or "plugin:NAME", or "client"
  before: Survey; // n is 0 for a token that took no row
  prepared?: Prepared[];
  stages: StageTrace[];
  accepted?: Timed[];
  notes?: Note[];
  taken_back?: TakenBack[];
}

export interface TokenName {
  id: number;
  token: string;
}

export interface Timed {
  name: string;
  ms: number;
}

/** What a plugin says of the token. */
export interface Note {
  by: string;
  text: string;
}

/** What a plugin asked for before the token was drawn, in tokens. */
export interface Prepared extends Timed {
  allowed?: number; // absent: it has no mask
  banned?: number;
  biased?: number;
}

export interface StageTrace extends Timed {
  after: Survey;
}

/** What there is to choose from at one point: n candidates, and the most likely of them. */
export interface Survey {
  n: number;
  best: Candidate[];
  chosen?: TokenRank; // of the token that was chosen in the end; absent: it is no candidate
}

export interface Candidate extends TokenName {
  logit: number;
  p: number;
}

export interface TokenRank {
  rank: number; // 1 is the most likely
  logit: number;
  p: number;
}

/** Tokens that were taken back together, just before a token. */
export interface TakenBack {
  by: string;
  text: string;
  tokens: (TokenName & { trace?: TokenTrace })[];
}

export interface EndFrame {
  type: "end";
  id: string;
  reason: EndReason;
  stop_type?: "eos" | "word" | "limit" | "plugin" | "none"; // as the next three, of an answer that has not failed
  stopping_word?: string;
  stopped_by?: string; // the plugin
  token_id?: number; // the token that ended the answer and is not part of it
  usage?: Usage;
  timings?: Timings;
  trace?: TokenTrace; // of the token that ended the answer
  error?: HostError;
}

export interface ErrorFrame {
  type: "error";
  id?: string;
  as?: string;
  frame?: ClientFrame["type"]; // the frame that was refused
  error: HostError;
}

export type HostFrame =
  | StartedFrame
  | TokenFrame
  | PartsFrame
  | RewoundFrame
  | OutputFrame
  | BranchesFrame
  | StateFrame
  | EndFrame
  | ErrorFrame
  | LiveFrame;

const known = new Set([
  "started",
  "token",
  "parts",
  "rewound",
  "output",
  "branches",
  "paused",
  "resumed",
  "end",
  "error",
  "live",
]);

/** Reads one frame of the host; undefined for what this page does not know, which it may ignore. */
export function parseFrame(data: unknown): HostFrame | undefined {
  if (typeof data !== "string") return undefined;
  let frame: unknown;
  try {
    frame = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (typeof frame !== "object" || frame === null || !("type" in frame)) return undefined;
  if (typeof frame.type !== "string" || !known.has(frame.type)) return undefined;
  return frame as HostFrame;
}
