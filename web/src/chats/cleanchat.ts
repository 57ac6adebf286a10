// SPDX-License-Identifier: MIT

// Makes valid chats and messages of what was stored or imported.
import type { HostError, PluginOutput, Timings, ToolCall, Usage } from "../host/protocol.ts";
import { cleanSettings, keptRecord, record } from "../settings/settings.ts";
import type { ChatInfo, Filed } from "./chatinfo.ts";
import {
  type Answering,
  type Attachment,
  type Medium,
  type Message,
  type Outcome,
  partUnits,
  type ToolResult,
} from "./message.ts";

type Raw = Record<string, unknown>;

/**
 * Takes what is valid of a stored chat, which can be of any age and any shape. undefined: nothing
 * can be made of it.
 */
export function cleanChat(stored: unknown): ChatInfo | undefined {
  const raw = record(stored);
  if (!isID(raw.id)) return undefined;
  const created = time(raw.created);
  const filed = cleanFiled(raw);
  return {
    ...filed,
    id: raw.id,
    title: text(raw.title),
    created,
    changed: Math.max(created, time(raw.changed)),
    settings: cleanSettings(raw.settings),
    branches: Object.fromEntries(Object.entries(record(raw.branches)).filter(([, id]) => isID(id))) as Record<
      string,
      string
    >,
  };
}

const longestFolder = 60; // characters

/** Where a chat is put, as far as that is valid: a folder's name is a line of some length. */
export function cleanFiled({ pinned, folder }: Raw): Filed {
  const name = text(folder).replace(/\s+/g, " ").trim().slice(0, longestFolder).trimEnd();
  return { ...(pinned === true && { pinned }), ...(name !== "" && { folder: name }) };
}

/** Takes what is valid of a stored message. undefined: nothing can be made of it. */
export function cleanMessage(stored: unknown): Message | undefined {
  const raw = record(stored);
  if (!isID(raw.id) || !isID(raw.chat) || (raw.role !== "user" && raw.role !== "assistant")) return undefined;
  const message: Message = {
    id: raw.id,
    chat: raw.chat,
    parent: isID(raw.parent) ? raw.parent : null,
    role: raw.role,
    created: time(raw.created),
    content: text(raw.content),
  };
  const files = list(raw.files, cleanFile);
  const calls = list(raw.calls, toolCall);
  if (files.length > 0) message.files = files;
  if (calls.length > 0) message.calls = calls;
  const results = list(raw.results, toolResult);
  if (results.length > 0) message.results = results;
  const outputs = list(raw.outputs, pluginOutput);
  if (outputs.length > 0) message.outputs = outputs;
  if (typeof raw.reasoning === "string") message.reasoning = raw.reasoning;
  if (raw.role === "assistant") message.answer = answering(record(raw.answer));
  return message;
}

/**
 * Messages of one chat as a tree: one whose parent is not there, or that is its own ancestor,
 * begins the chat.
 */
export function cleanTree(messages: readonly Message[]): Message[] {
  const ids = new Set(messages.map(({ id }) => id));
  const parents = new Map<string, string | null>();
  for (const { id, parent } of messages) parents.set(id, parent !== null && ids.has(parent) ? parent : null);
  const rooted = new Set<string>(); // the way up from these ends at a beginning
  for (const id of ids) {
    const way = new Set<string>();
    let at: string | null = id;
    while (at !== null && !rooted.has(at) && !way.has(at)) {
      way.add(at);
      at = parents.get(at) ?? null;
    }
    if (at !== null && way.has(at)) parents.set(at, null); // a circle, which is cut here
    for (const passed of way) rooted.add(passed);
  }
  return messages.map((message) => ({ ...message, parent: parents.get(message.id) ?? null }));
}

export function isID(value: unknown): value is string {
  return typeof value === "string" && /^\w{1,64}$/.test(value);
}

const phases = new Set(["waiting", "streaming", "paused", "stopping", "lost"]);

function answering(raw: Raw): Answering {
  const answer: Answering = {
    phase: phases.has(String(raw.phase)) ? (raw.phase as Answering["phase"]) : "done",
    model: text(raw.model),
    seq: whole(raw.seq) ?? -1,
    tokens: whole(raw.tokens) ?? 0,
    asked: time(raw.asked),
  };
  if (typeof raw.stream === "string" && answer.phase !== "done") answer.stream = raw.stream;
  for (const field of ["seed", "promptTokens", "cachedTokens", "first", "reasonedUntil", "backed"] as const) {
    const value = whole(raw[field]);
    if (value !== undefined) answer[field] = value;
  }
  if (raw.earlier !== undefined) {
    const { content, reasoning, tokens } = record(raw.earlier);
    answer.earlier = {
      content: whole(content) ?? 0,
      reasoning: whole(reasoning) ?? 0,
      tokens: whole(tokens) ?? 0,
    };
  }
  if (raw.edited === true) answer.edited = true;
  if (raw.traced === true) answer.traced = true;
  if (typeof raw.column === "string" && raw.column !== "") answer.column = raw.column;
  if (raw.set !== undefined) answer.set = keptRecord(raw.set);
  if (answer.phase === "done") answer.outcome = outcome(record(raw.outcome));
  return answer;
}

const reasons = new Set(["stop", "length", "cancelled", "error", "tool_calls"]);

function outcome(raw: Raw): Outcome {
  const ended: Outcome = {
    reason: reasons.has(String(raw.reason)) ? (raw.reason as Outcome["reason"]) : "cancelled",
  };
  if (raw.usage !== undefined) {
    const { prompt_tokens, completion_tokens } = record(raw.usage);
    const usage: Usage = {
      prompt_tokens: whole(prompt_tokens) ?? 0,
      completion_tokens: whole(completion_tokens) ?? 0,
    };
    ended.usage = usage;
  }
  if (raw.timings !== undefined) ended.timings = numbers(raw.timings);
  if (raw.error !== undefined) ended.error = hostError(record(raw.error));
  return ended;
}

function hostError(raw: Raw): HostError {
  const error: HostError = { message: text(raw.message) };
  if (typeof raw.type === "string") error.type = raw.type;
  if (typeof raw.code === "string" || typeof raw.code === "number") error.code = raw.code;
  if (typeof raw.param === "string") error.param = raw.param;
  return error;
}

function numbers(value: unknown): Timings {
  return Object.fromEntries(
    Object.entries(record(value)).filter(([, number]) => Number.isFinite(number)),
  ) as Timings;
}

const mediaTypes = /^(image\/(jpeg|png|gif|webp|bmp)|audio\/(wav|mpeg))$/;

/** What is valid of a file of a question; undefined if nothing is. */
export function cleanFile(value: unknown): Attachment | undefined {
  const raw = record(value);
  const { name, text: content, file: id, type } = raw;
  if (typeof name !== "string") return undefined;
  if (typeof content === "string") {
    const { unit, count } = record(raw.parts);
    const known = partUnits.find((one) => one === unit);
    const [parts, n] = [known, whole(count) ?? 0];
    return { name, text: content, ...(parts && n > 0 && { parts: { unit: parts, count: n } }) };
  }
  if (!isID(id) || typeof type !== "string" || !mediaTypes.test(type)) return undefined;
  const medium: Medium = { name, file: id, type, size: whole(raw.size) ?? 0 };
  for (const field of ["width", "height", "seconds"] as const) {
    const value = raw[field];
    if (typeof value === "number" && value > 0 && value < 1e6) medium[field] = value;
  }
  return medium;
}

function toolCall(value: unknown): ToolCall | undefined {
  const { id, function: called } = record(value);
  const { name, arguments: given } = record(called);
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  return { id, type: "function", function: { name, arguments: text(given) } };
}

function toolResult(stored: unknown): ToolResult | undefined {
  const { call, content, by, failed, open } = record(stored);
  if (typeof call !== "string") return undefined;
  const result: ToolResult = { call, content: text(content) };
  if (typeof by === "string") result.by = by;
  if (failed === true) result.failed = true;
  if (open === true) result.open = true;
  return result;
}

function pluginOutput(stored: unknown): PluginOutput | undefined {
  const { plugin, tokens, value } = record(stored);
  if (typeof plugin !== "string" || value === undefined || !("value" in keptRecord({ value })))
    return undefined;
  return { plugin, tokens: whole(tokens) ?? 0, value };
}

function list<T>(value: unknown, each: (value: unknown) => T | undefined): T[] {
  return Array.isArray(value) ? value.map(each).filter((item) => item !== undefined) : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined;
}

const latest = 8.64e15; // that a Date can be, in milliseconds

function time(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? Math.min(latest, Math.max(0, value)) : 0;
}
