// SPDX-License-Identifier: MIT

// Tokens, probabilities, stages and plugins in words.
import { nativeNamed } from "../settings/nativestages.ts";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

const signs: Record<string, string> = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };

/**
 * A token with its invisible characters shown: spaces, line breaks, and what would reorder or hide
 * text.
 */
export function visibleToken(token: string): string {
  if (token === "") return "∅";
  return token.replace(
    /[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (sign) => signs[sign] ?? `⟨${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

const longest = 200; // characters of a token in the text

/**
 * A token as it stands in the text of an answer: its spaces and line breaks do what they do there.
 */
export function inText(token: string): string {
  const cut = token.length > longest ? `${token.slice(0, longest)}…` : token;
  if (cut.trim() === "" || cut === "") return visibleToken(cut).replaceAll("↵", "↵\n");
  return visibleToken(cut).replaceAll("␣", " ").replaceAll("↵", "↵\n");
}

/** A probability in percent, as precise as a reader needs it. */
export function percent(p: number): string {
  if (p <= 0) return "0 %";
  if (p < 0.0001) return "< 0.01 %";
  if (p > 0.9995 && p < 1) return "> 99.9 %";
  if (p >= 0.0995) return `${whole.format(p * 100)} %`;
  return `${short.format(p * 100)} %`;
}

export function ordinal(n: number): string {
  const tens = n % 100;
  const end = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${whole.format(n)}${end}`;
}

/** Who, in a sentence. */
export function actor(by: string): string {
  return by === "client" ? "You" : by;
}

const names: Record<string, string> = { dist: "random draw", model: "model", prepare: "plugins' rules" };

/** What a stage is called where people read of it. */
export function stageName(name: string): string {
  return names[name] ?? nativeNamed(name)?.label ?? name;
}

/** A stage as a sentence begins with it. */
export function stageSubject(name: string): string {
  return name === "dist" ? "The random draw" : stageName(name);
}
