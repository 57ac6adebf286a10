// SPDX-License-Identifier: MIT

// A prompt as the model gets it, token by token.
import { isRecord } from "../text/parsedjson.ts";

/** A prompt as the model gets it. */
export interface Prompt {
  tokens: readonly PromptToken[];
}

export interface PromptToken {
  text: string; // what is no character is written as one that stands for it
  special: boolean; // a control token; its text is a name
}

/** Consecutive tokens that are drawn as one text, or one control token. */
export type PromptRun = PromptToken;

/**
 * Reads the answer of /apply-template with return_tokens. A character that several tokens make is
 * told with the first.
 */
export function readPrompt(answer: unknown): Prompt {
  const list = isRecord(answer) && Array.isArray(answer.tokens) ? answer.tokens : [];
  let decoder = new TextDecoder();
  const tokens = list.filter(isRecord).map(({ piece, special }): PromptToken => {
    if (special === true) {
      decoder = new TextDecoder();
      return { text: String(piece), special: true };
    }
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : bytesOf(piece);
    return { text: decoder.decode(bytes, { stream: true }), special: false };
  });
  return { tokens };
}

function bytesOf(piece: unknown): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Array.isArray(piece) ? piece.filter((byte) => typeof byte === "number") : []);
}

/** Joins the tokens that are plain text, so that a long prompt is drawn with few elements. */
export function runsOf(tokens: readonly PromptToken[]): PromptRun[] {
  const runs: PromptRun[] = [];
  let texts: string[] = [];
  const end = () => {
    if (texts.length > 0) runs.push({ text: texts.join(""), special: false });
    texts = [];
  };
  for (const token of tokens) {
    if (!token.special) {
      texts.push(token.text);
      continue;
    }
    end();
    runs.push(token);
  }
  end();
  return runs;
}

/** How many tokens two prompts begin with alike. */
export function sharedTokens(a: readonly PromptToken[], b: readonly PromptToken[]): number {
  const differs = a.findIndex((token, at) => token.text !== b[at]?.text || token.special !== b[at]?.special);
  return differs < 0 ? a.length : differs;
}
