// SPDX-License-Identifier: MIT

// The types of a message, of its answer's state and of its attachments.
import type {
  EndReason,
  HostError,
  PluginOutput,
  Sampling,
  Timings,
  ToolCall,
  Usage,
} from "../host/protocol.ts";

/** A text file that was added to a question, or the text of a document. */
export interface TextFile {
  name: string;
  text: string;
  parts?: DocumentParts; // of a document that has some
}

export const partUnits = ["page", "slide", "sheet"] as const;

export interface DocumentParts {
  unit: (typeof partUnits)[number];
  count: number;
}

/**
 * A picture or a sound that was added to a question. Its bytes are in the store, once for all
 * messages that have it.
 */
export interface Medium {
  name: string;
  file: string; // what the store knows its bytes by: their SHA-256 in hexadecimal
  type: string; // "image/…" or "audio/…"
  size: number; // bytes
  width?: number; // pixels as it is shown, of a picture
  height?: number;
  seconds?: number; // of a sound
}

/** A file that was added to a question. */
export type Attachment = TextFile | Medium;

export function isMedium(file: Attachment): file is Medium {
  return "file" in file;
}

/** The pictures and sounds of messages. */
export function mediaOf(messages: readonly { files?: readonly Attachment[] }[]): Medium[] {
  return messages.flatMap(({ files = [] }) => files.filter(isMedium));
}

/**
 * One message of a chat; cleanchat.ts knows each field. A chat is a tree of them: an edited
 * question or a second answer is a sibling of the first.
 */
export interface Message {
  readonly id: string;
  readonly chat: string;
  readonly parent: string | null; // null: it begins the chat
  readonly role: "user" | "assistant";
  readonly created: number; // milliseconds, as Date.now()
  content: string;
  files?: Attachment[]; // of a question
  reasoning?: string;
  calls?: ToolCall[];
  results?: ToolResult[]; // what tools answered to its calls
  outputs?: PluginOutput[]; // what plugins told of an answer
  answer?: Answering; // of an answer
}

/** What a tool answered to a call. */
export interface ToolResult {
  call: string; // its id
  content: string;
  by?: string; // the MCP server that ran it; absent: a person answered
  failed?: boolean; // content says why
  open?: boolean; // the call still waits: for the tool, or for a person where content says what went wrong
}

/** The calls that an answer ended with, for tools to answer. */
export function callsOf({ calls = [], answer }: Message): ToolCall[] {
  return answer?.outcome?.reason === "tool_calls" ? calls : [];
}

/** What a tool answered to a call of a message; undefined while the call waits. */
export function resultOf({ results = [] }: Message, { id }: ToolCall): ToolResult | undefined {
  return results.find(({ call, open }) => call === id && !open);
}

/** Those calls of an answer that have no result yet. */
export function openCalls(message: Message): ToolCall[] {
  const { results = [] } = message;
  const done = new Set(results.filter(({ open }) => !open).map(({ call }) => call));
  return callsOf(message).filter(({ id }) => !done.has(id));
}

/** waiting: for a slot. lost: the connection is, and the host goes on meanwhile. */
export type Phase = "waiting" | "streaming" | "paused" | "stopping" | "lost" | "done";

/** How an answer was generated, and where it stands. */
export interface Answering {
  phase: Phase;
  model: string;
  stream?: string; // the host's name for it, while it can be attached to
  seq: number; // of the last event that is in the message; -1: none
  tokens: number;
  seed?: number; // that the host began with
  set?: Sampling; // sampling parameters that were changed in mid-answer
  promptTokens?: number;
  cachedTokens?: number;
  asked: number; // when, in milliseconds as Date.now()
  first?: number; // when the first token came
  reasonedUntil?: number; // when its reasoning ended, which began with the first token
  earlier?: Earlier; // it goes on with what the message had
  edited?: boolean; // a person wrote it, not the model
  column?: string; // of several side by side: what it was asked with
  traced?: boolean; // a record of its tokens was kept
  backed?: number; // how often tokens were taken back before anybody saw them
  outcome?: Outcome; // of phase done
}

/** What the message of an answer had before it was continued. */
export interface Earlier {
  content: number; // characters
  reasoning: number; // characters
  tokens: number;
}

/** How an answer ended. */
export interface Outcome {
  reason: EndReason;
  usage?: Usage;
  timings?: Timings;
  error?: HostError;
}

/** A message as it is once its answer was stopped. */
export function stopped(message: Message): Message {
  if (message.answer === undefined || message.answer.phase === "done") return message;
  const { stream: _, ...answer } = message.answer;
  return { ...message, answer: { ...answer, phase: "done", outcome: { reason: "cancelled" } } };
}

/** A message that no chat keeps. */
export function unkept(role: Message["role"], content: string): Message {
  return { id: newID(), chat: "", parent: null, role, created: Date.now(), content };
}

/** A name for a new thing. crypto.randomUUID exists only on https and localhost. */
export function newID(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
