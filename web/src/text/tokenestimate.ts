// SPDX-License-Identifier: MIT

// Estimates how many tokens a text is.
import { language, t } from "../language/language.ts";

const sample = 20_000; // characters that are looked at

/**
 * About how many tokens a text is: in most vocabularies a token has four letters of English, and
 * one or two signs of scripts such as Chinese.
 */
export function estimateTokens(text: string): number {
  const part = text.slice(0, sample);
  if (part === "") return 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  const ascii = part.match(/[\x00-\x7f]/g)?.length ?? 0;
  const each = (ascii / 4 + (part.length - ascii) / 1.5) / part.length;
  return Math.ceil(each * text.length);
}

/** The estimate in words: "≈ 1,200 tokens". */
export function tokens(text: string): string {
  const about = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
  return t("≈ {n} tokens", { n: about.format(estimateTokens(text)) });
}
