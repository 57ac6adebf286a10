// SPDX-License-Identifier: MIT

// Roads not taken: words that the model was unsure of, and how an answer begins with another one.
import type { Beginning } from "../chats/chat.ts";
import type { Message } from "../chats/message.ts";
import type { Candidate } from "../host/protocol.ts";
import type { Piece, TokenItem } from "./tokenitems.ts";
import { modelP } from "./tokentrace.ts";

// A word that the model gave less than one of these is tinted, the more the less likely it was.
const shades = [0.7, 0.4, 0.15];
const leastChance = 0.01; // of an alternative that is offered
const mostRoads = 6; // alternatives that are offered for one word

/** A place in an answer where it could have gone another way. */
export interface Fork {
  place: number; // of the token
  shade: number; // how unsure the model was: 1 to 3; 0: it was sure
  p: number; // the model's probability of the token; NaN where it was not asked
  roads: readonly Candidate[]; // what could have stood there, the likeliest first
  instead: readonly TokenItem[]; // what was taken back there before anybody saw it
}

/** The places of an answer where it could have gone another way, or did at first. */
export function forksOf(items: readonly TokenItem[]): Fork[] {
  const forks: Fork[] = [];
  let instead: TokenItem[] = [];
  for (const item of items) {
    if (item.takenBy !== undefined) {
      instead.push(item);
      continue;
    }
    const { trace, place } = item;
    const p = (trace && modelP(trace)) ?? Number.NaN;
    const roads = trace === undefined ? [] : roadsOf(trace.before.best, trace.id);
    const shade = roads.length === 0 ? 0 : shades.filter((bound) => p < bound).length;
    if (shade > 0 || instead.length > 0) forks.push({ place, shade, p, roads, instead });
    instead = [];
  }
  return forks;
}

/**
 * What else could have been written: not the token itself, nothing that would end the answer, and
 * nothing that is no text by itself, such as half of a character.
 */
function roadsOf(best: readonly Candidate[], chosen: number): Candidate[] {
  return best
    .filter(({ id, token, p }) => id !== chosen && p >= leastChance && token !== "" && isText(token))
    .slice(0, mostRoads);
}

function isText(token: string): boolean {
  return !token.includes("\ufffd") && !/^<\|.*\|>$|^<\/?\w+>$/.test(token);
}

/**
 * The text of each token. The host may hold text back and send it with a later token, so what the
 * record calls a token counts, where that makes up the same text.
 */
export function textsOf(pieces: readonly Piece[]): string[] {
  const sent = pieces.map(({ text }) => text);
  const named = pieces.map(({ text, trace }) => trace?.token ?? text);
  return named.join("").startsWith(sent.join("")) ? named : sent;
}

/**
 * How an answer begins that has another text in the place of a token. undefined where that is no
 * part of what is shown, such as in a tool call.
 */
export function beginningAt(
  { content, reasoning = "" }: Pick<Message, "content" | "reasoning">,
  pieces: readonly Piece[],
  place: number,
  text: string,
): Beginning | undefined {
  const written = pieces.map((piece) => piece.text).join("");
  const before = textsOf(pieces).slice(0, place).join("");
  const tokens = place + 1;
  // The record of an answer that was continued may have lost its beginning.
  if (content.endsWith(written))
    return {
      content: content.slice(0, content.length - written.length) + before + text,
      reasoning,
      tokens,
    };
  const from = content === "" ? written.length : written.lastIndexOf(content);
  if (from >= 0 && before.length >= from) return { content: before.slice(from) + text, reasoning, tokens };
  const thought = reasoning === "" ? -1 : written.indexOf(reasoning);
  if (thought < 0 || before.length < thought || before.length > thought + reasoning.length) return undefined;
  return { content: "", reasoning: before.slice(thought) + text, tokens };
}

/** The record of an answer up to a token that a person chose in place of the one that was there. */
export function piecesWith(pieces: readonly Piece[], place: number, road: Candidate): Piece[] {
  const { trace } = pieces[place] ?? {};
  const { id, token, logit, p } = road;
  const rank = 1 + (trace?.before.best.findIndex((candidate) => candidate.id === id) ?? 0);
  const before = { n: 0, best: [], ...trace?.before, chosen: { rank, logit, p } };
  const chosen: Piece = {
    text: token,
    trace: { id, token, how: "injected", by: "client", before, stages: [] },
  };
  const texts = textsOf(pieces);
  const same = pieces.slice(0, place).map((piece, i) => ({ ...piece, text: texts[i] ?? "" }));
  return [...same, chosen];
}
