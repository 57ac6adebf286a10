// SPDX-License-Identifier: MIT

// How people write rules, in each language that the page speaks.
import type { Language } from "../language/language.ts";

/** What a rule is about. */
export type Kind =
  | "letter"
  | "digits"
  | "ban"
  | "sentences"
  | "sentence"
  | "words"
  | "characters"
  | "tokens"
  | "date"
  | "integer"
  | "number"
  | "answers"
  | "choice"
  | "fields"
  | "points"
  | "list"
  | "alphabet";

/** A rule of a kind: its parts are what the groups match. The first that matches counts. */
export type Pattern = readonly [Kind, RegExp];

const en: readonly Pattern[] = [
  ["letter", /^(?:without|never use|no) (?:the )?letter (\p{L})$/iu],
  ["digits", /^(?:without|never use|no) (?:digits|figures|numerals)$/i],
  [
    "ban",
    /^(?:never|do not|don['’]t|without)(?: (?:say|saying|write|writing|use|using|mention|mentioning))? (.+)$/i,
  ],
  ["sentences", /^(?:at most|up to|no more than|max(?:imum)?) (\S+) sentences?$/i],
  ["sentence", /^(?:in |only )?(?:one|a single) sentence(?: only)?$/i],
  ["words", /^(?:at most|up to|no more than|max(?:imum)?) (\S+) words?$/i],
  ["tokens", /^at least (\S+) tokens?$/i],
  ["date", /^(?:an? |only an? )?(?:iso )?date$/i],
  ["integer", /^(?:an? |only an? )?(?:whole number|integer)$/i],
  ["number", /^(?:an? |only an? )?number$/i],
  ["answers", /^(?:only |answer )?(?:with )?(yes) or (no)$/i],
  ["choice", /^(?:only )?(?:one of|either):? (.+)$/i],
  ["fields", /^(?:an? )?(?:json|object)(?: object)? with (.+)$/i],
  ["points", /^(?:an? )?(?:list of |exactly )?(\S+) (?:bullet )?(?:points|bullets|items)$/i],
  ["list", /^(?:an? |only an? )?(?:bulleted )?list$|^bullets$|^bullet points$/i],
  [
    "alphabet",
    /^(?:only )?(latin|cyrillic|greek|han|hangul|arabic|hebrew) (?:letters|script|alphabet)(?: only)?$/i,
  ],
];

const de: readonly Pattern[] = [
  ["letter", /^(?:ohne|nie|kein)(?: den)? buchstaben? (\p{L})$/iu],
  ["digits", /^(?:ohne|keine|nie) (?:ziffern|zahlen)$/i],
  ["sentences", /^(?:höchstens|maximal|max\.?|bis zu|nicht mehr als) (\S+) (?:satz|sätzen?)$/i],
  ["sentence", /^(?:in |nur )?ein(?:en|em)?(?: einzige[nr])? satz$/i],
  ["words", /^(?:höchstens|maximal|max\.?|bis zu|nicht mehr als) (\S+) (?:wort|worten?|wörtern?)$/i],
  ["tokens", /^(?:mindestens|wenigstens) (\S+) tokens?$/i],
  ["date", /^(?:nur )?(?:ein )?(?:iso-)?datum$/i],
  ["integer", /^(?:nur )?(?:eine )?(?:ganze zahl|ganzzahl)$/i],
  ["number", /^(?:nur )?(?:eine )?zahl$/i],
  ["answers", /^(?:nur )?(?:mit )?(ja) oder (nein)(?: antworten)?$/i],
  ["choice", /^(?:nur )?(?:ein(?:e[rs]?|s) (?:von|aus)|entweder):? (.+)$/i],
  ["fields", /^(?:ein )?(?:json|objekt)(?:-objekt)? mit (.+)$/i],
  ["points", /^(?:eine )?(?:liste (?:mit|von|aus) |genau )?(\S+) (?:stich)?punkten?$/i],
  ["list", /^(?:nur )?(?:als |eine )?(?:liste|aufzählung|stichpunkte)$/i],
  [
    "alphabet",
    /^nur (latein|kyrill|griech|chines|korean|arab|hebrä)\p{L}* (?:buchstaben|schrift|zeichen|alphabet)$/iu,
  ],
  ["ban", /^(?:sage?|schreibe?|nenne|erwähne|(?:ver|be)nutze|verwende) (?:nie|niemals|nicht) (.+)$/i],
  [
    "ban",
    /^(?:nie|niemals|nicht|ohne) (?!mehr als )(.+?)(?: (?:zu )?(?:sagen|schreiben|nennen|erwähnen|benutzen|verwenden))?$/i,
  ],
];

const zh: readonly Pattern[] = [
  ["letter", /^(?:不用|不含|不要用|不使用|别用)字母 ?(\p{L})$/u],
  ["digits", /^(?:不用|不含|不要用|不使用|别用)(?:阿拉伯)?数字$/],
  ["sentences", /^(?:最多|至多|不超过) ?(\S+?) ?(?:句话?|个句子)$/],
  ["sentence", /^(?:只用|只写|用)?一句话(?:回答)?$/],
  ["characters", /^(?:最多|至多|不超过) ?(\S+?) ?个?汉?字$/],
  ["characters", /^(\S+?) ?个?字以内$/],
  ["tokens", /^(?:至少|最少|不少于) ?(\S+?) ?个? ?(?:词元|tokens?)$/i],
  ["date", /^(?:只写)?(?:一个)?日期$/],
  ["integer", /^(?:只写)?(?:一个)?整数$/],
  ["number", /^(?:只写)?(?:一个)?数字$/],
  ["answers", /^(?:只)?(?:回答)?(是)或(否)$/],
  ["choice", /^(?:以下|其中|下列)之一: ?(.+)$/],
  ["fields", /^(?:一个)?json(?:对象)?,? ?(?:包含|含有|含)(?:字段)?:? ?(.+)$/i],
  ["points", /^(?:列出|写)? ?(\S+?) ?[个条]要点(?:的列表)?$/],
  ["list", /^(?:写成|只写|用)?(?:一个)?(?:列表|清单)$/],
  ["alphabet", /^只(?:用|写)(拉丁|西里尔|希腊|汉|韩|阿拉伯|希伯来)(?:字母|文字|字|文)$/],
  ["ban", /^(?:永远不要|不要|不许|不准|禁止|绝不|别|不)(?:说|写|使用|用|提到|提及|提|出现) ?(.+)$/],
];

/** Those of all languages, whichever the page speaks: English is understood everywhere. */
export const patterns: readonly Pattern[] = Object.values({
  en,
  de,
  "zh-Hans": zh,
} satisfies Partial<Record<Language, readonly Pattern[]>>).flat();

/** What people call numbers, from one to ten. */
const numbers = [
  ["a", "an", "one", "ein", "eine", "einen", "einem", "一"],
  ["two", "zwei", "二", "两"],
  ["three", "drei", "三"],
  ["four", "vier", "四"],
  ["five", "fünf", "五"],
  ["six", "sechs", "六"],
  ["seven", "sieben", "七"],
  ["eight", "acht", "八"],
  ["nine", "neun", "九"],
  ["ten", "zehn", "十"],
];

/** A number as people write it; undefined where it is none, or too large. */
export function numberOf(word: string): number | undefined {
  if (/^\d{1,4}$/.test(word)) return Math.max(1, Number(word));
  const at = numbers.findIndex((names) => names.includes(word.toLowerCase()));
  return at < 0 ? undefined : at + 1;
}

/** The scripts of Unicode, by how their names begin. */
const scripts: readonly (readonly [string, RegExp])[] = [
  ["Latin", /^(?:latin|latein|拉丁)/i], // untranslated: Unicode's name
  ["Cyrillic", /^(?:cyrill|kyrill|西里尔)/i], // untranslated: Unicode's name
  ["Greek", /^(?:greek|griech|希腊)/i], // untranslated: Unicode's name
  ["Hangul", /^(?:hangul|korean|韩)/i], // untranslated: Unicode's name
  ["Han", /^(?:han|chines|汉)/i], // untranslated: Unicode's name
  ["Arabic", /^(?:arab|阿拉伯)/i], // untranslated: Unicode's name
  ["Hebrew", /^(?:hebr|希伯来)/i], // untranslated: Unicode's name
];

/** What Unicode calls a script. */
export function scriptOf(name: string): string | undefined {
  return scripts.find(([, names]) => names.test(name))?.[0];
}

/** What parts the words of a list. */
export const separators = /\s*[,;、]\s*(?:or |nor |and |oder |noch |und )?|\s+(?:or|nor|oder|noch)\s+/i;

/** What parts the fields of an object. */
export const fieldSeparators = /\s*[,;、]\s*(?:and |und )?|\s+(?:and|und)\s+/i;

/** What is in a field, by what people call it. */
export const typeNames = {
  text: ["text", "文本", "文字"],
  number: ["number", "zahl", "数字"],
  integer: ["integer", "whole number", "ganzzahl", "ganze zahl", "整数"], // untranslated: what people type
  date: ["date", "datum", "日期"],
  boolean: ["boolean", "yes or no", "ja oder nein", "是或否"], // untranslated: what people type
  list: ["list", "liste", "列表"],
} as const;
