// SPDX-License-Identifier: MIT

// Tokens, probabilities, stages and plugins in words.
import { language, t } from "../language/language.ts";
import { nativeNamed } from "../settings/nativestages.ts";

const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
const ordinals = new Intl.PluralRules(language, { type: "ordinal" });

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
  if (p > 0 && p < 0.0001) return t("< {n} %", { n: 0.01 });
  if (p > 0.9995 && p < 1) return t("> {n} %", { n: 99.9 });
  const digits = p >= 0.0995 ? whole : short;
  return t("{n} %", { n: digits.format(Math.max(0, p * 100)) });
}

/** A rank: 1st, 2nd, 3rd, 4th. */
export function ordinal(n: number): string {
  switch (ordinals.select(n)) {
    case "one":
      return t("{n}st", { n });
    case "two":
      return t("{n}nd", { n });
    case "few":
      return t("{n}rd", { n });
    default:
      return t("{n}th", { n });
  }
}

/** Who did something: a plugin by its name, or whoever reads this. */
export function actor(by: string): string {
  return by === "client" ? t("You") : by;
}

const names: Record<string, string> = {
  dist: t("random draw"),
  model: t("model"),
  prepare: t("plugins' rules"),
};

/** What a stage is called where people read of it. */
export function stageName(name: string): string {
  return names[name] ?? nativeNamed(name)?.label ?? name;
}

/** A stage as a sentence begins with it. */
export function stageSubject(name: string): string {
  return name === "dist" ? t("The random draw") : stageName(name);
}
