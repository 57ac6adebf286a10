// SPDX-License-Identifier: MIT

// A chat as one HTML file that needs nothing else, with how the tokens of its answers were chosen.
import { language, t, tn } from "../language/language.ts";
import { isPicture } from "../media/medialimits.ts";
import { sha256 } from "../media/sha256.ts";
import { visibleHTML, withoutControls } from "../text/bidi.ts";
import { markdown, renderMarkdown } from "../text/markdown.ts";
import { explanationOf } from "../trace/explanation.ts";
import { Palette } from "../trace/tokencolours.ts";
import { itemsOf, type Piece, type TokenItem } from "../trace/tokenitems.ts";
import { inText, percent, visibleToken } from "../trace/tokenwords.ts";
import { type Attachment, isMedium, type Message, resultOf } from "./message.ts";
import { readableArguments } from "./toolarguments.ts";
import { answerName } from "./transcript.ts";

/** What a page shows. */
export interface ShownChat {
  title: string;
  messages: readonly Message[];
  urls: ReadonlyMap<string, string>; // data: URLs of pictures and sounds
  pieces: ReadonlyMap<string, readonly Piece[]>; // the tokens of answers, by message
}

/** What is told of a token when it is chosen: its name, sentences, and the likeliest candidates. */
type TokenFacts = [name: string, sentences: string[], best: [token: string, p: string][]];

const mostCandidates = 8; // of a token

/** The page, as the text of an HTML file. */
export function standalonePage({ title, messages, urls, pieces }: ShownChat): string {
  const facts: TokenFacts[] = [];
  const sections = messages.map((message) => section(message, urls, pieces.get(message.id) ?? [], facts));
  const data = JSON.stringify(facts).replaceAll("<", "\\u003c"); // no text of it ends the script
  // untranslated: markup
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; media-src data:; style-src ${source(style)}; script-src ${source(viewer)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${attribute(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1 dir="auto">${text(title)}</h1>
${sections.join("\n")}
</main>
<script type="application/json" id="facts">${data}</script>
<script>${viewer}</script>
</body>
</html>
`;
}

function section(
  message: Message,
  urls: ReadonlyMap<string, string>,
  pieces: readonly Piece[],
  facts: TokenFacts[],
): string {
  const { role, content, files = [], reasoning = "", answer } = message;
  const attached = files.map((file) => attachment(file, urls)).join("");
  if (role === "user")
    return `<section><h2>${text(t("Question"))}</h2>${attached}<p class="asked" dir="auto">${text(content)}</p></section>`;
  const parts = [
    reasoning === ""
      ? ""
      : `<details><summary>${text(t("Reasoning"))}</summary>${renderMarkdown(reasoning)}</details>`,
    renderMarkdown(content),
    ...calls(message),
    tokens(pieces, facts),
  ];
  return `<article><h2>${text(answerName(answer?.model))}</h2>${parts.join("")}</article>`;
}

function attachment(file: Attachment, urls: ReadonlyMap<string, string>): string {
  if (!isMedium(file))
    return `<details><summary>${text(file.name)}</summary><pre>${text(file.text)}</pre></details>`;
  const url = urls.get(file.file);
  if (url === undefined) return `<p>(${text(file.name)})</p>`;
  const [from, name] = [attribute(url), attribute(file.name)];
  return isPicture(file)
    ? `<img src="${from}" alt="${name}">`
    : `<audio controls src="${from}" title="${name}"></audio>`;
}

/** The calls of tools of an answer, with what they answered. */
function calls(message: Message): string[] {
  return (message.calls ?? []).map((call) => {
    const { name, arguments: given } = call.function;
    const result = resultOf(message, call);
    const answered =
      result === undefined ? "" : `<p>${text(t("It answers:"))}</p><pre>${text(result.content)}</pre>`;
    return `<details open><summary>${text(t("Calls {name}", { name }))}</summary><pre>${text(readableArguments(given))}</pre>${answered}</details>`;
  });
}

/** The tokens of an answer, each a button that tells how it was chosen; "" without a record. */
function tokens(pieces: readonly Piece[], facts: TokenFacts[]): string {
  if (!pieces.some(({ trace }) => trace !== undefined)) return "";
  const palette = new Palette("probability");
  const buttons = itemsOf(pieces).map((item) => {
    const shade = palette.shade(item).name;
    const taken = item.takenBy === undefined ? "" : " taken";
    facts.push(factsOf(item));
    return `<button type="button" class="${shade}${taken}" data-at="${facts.length - 1}" tabindex="-1">${text(inText(item.text))}</button>`;
  });
  const title = tn(buttons.length, "How its token was chosen", "How its {n} tokens were chosen");
  const hint = t("Choose a token. Arrow keys lead to the next one.");
  return `<details class="tokens"><summary>${text(title)}</summary><p class="run">${buttons.join("")}</p><div class="detail" role="status">${text(hint)}</div></details>`;
}

function factsOf(item: TokenItem): TokenFacts {
  const best = (item.trace?.before.best ?? []).slice(0, mostCandidates);
  return [
    visibleToken(item.text),
    explanationOf(item).map((line) => line.text),
    best.map(({ token, p }) => [visibleToken(token), percent(p)]),
  ];
}

/** A text in HTML, with the controls of direction shown. */
function text(plain: string): string {
  return visibleHTML(markdown.utils.escapeHtml(plain));
}

/** A text where there can be no mark. */
function attribute(plain: string): string {
  return markdown.utils.escapeHtml(withoutControls(plain));
}

/** A script or a style as the page's policy names it: nothing else in the page can run. */
function source(code: string): string {
  const hex = sha256(new TextEncoder().encode(code));
  const bytes = hex.match(/../g)?.map((byte) => String.fromCharCode(Number.parseInt(byte, 16))) ?? [];
  return `'sha256-${btoa(bytes.join(""))}'`;
}

// untranslated: CSS
const style = `
:root { color-scheme: light dark; --line: #8886; --doubt: #b8860b; }
body { max-width: 46rem; margin: 0 auto; padding: 1.5rem; font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; }
h2 { margin: 2rem 0 .4rem; font-size: .85rem; opacity: .75; }
.asked { white-space: pre-wrap; }
pre { overflow: auto; padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .5rem; white-space: pre-wrap; }
pre, code, .run { font-family: ui-monospace, monospace; font-size: .88em; }
table { border-collapse: collapse; }
td, th { padding: .1rem .6rem; border: 1px solid var(--line); text-align: left; }
img { max-width: 100%; }
details { margin: .6rem 0; }
.head { display: none; }
.control::after { content: attr(data-name); border: 1px solid; font-size: .75em; }
.run { white-space: pre-wrap; }
.run button { padding: 0; border: 0; background: none; color: inherit; font: inherit; white-space: pre-wrap; cursor: pointer; }
.run .p1 { box-shadow: inset 0 -1px var(--doubt); }
.run .p2 { box-shadow: inset 0 -2px var(--doubt); }
.run .p3 { box-shadow: inset 0 -3px var(--doubt); }
.run .p4 { box-shadow: inset 0 -5px var(--doubt); }
.run .taken { text-decoration: line-through; opacity: .6; }
.run [aria-pressed="true"] { outline: 2px solid; }
.detail { padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .5rem; }
`;

/**
 * What the page does: it tells of the token that is chosen. It makes text of the facts, never HTML.
 */
// untranslated: a script
const viewer = `
const facts = JSON.parse(document.getElementById("facts").textContent);
const add = (to, tag, text) => { const made = document.createElement(tag); made.textContent = text; to.append(made); return made; };
const show = (button) => {
  const [name, sentences, best] = facts[button.dataset.at];
  for (const other of button.parentElement.querySelectorAll("[aria-pressed]")) other.removeAttribute("aria-pressed");
  button.setAttribute("aria-pressed", "true");
  const detail = button.closest(".tokens").querySelector(".detail");
  detail.replaceChildren();
  add(add(detail, "p", ""), "code", name);
  for (const sentence of sentences) add(detail, "p", sentence);
  if (best.length === 0) return;
  const table = add(detail, "table", "");
  for (const [token, p] of best) {
    const row = add(table, "tr", "");
    add(row, "td", token);
    add(row, "td", p);
  }
};
for (const run of document.querySelectorAll(".run")) run.querySelector("button").tabIndex = 0;
addEventListener("click", ({ target }) => { const button = target.closest("[data-at]"); if (button) show(button); });
addEventListener("keydown", (event) => {
  const button = event.target.closest("[data-at]");
  const next = button && { ArrowRight: button.nextElementSibling, ArrowLeft: button.previousElementSibling }[event.key];
  if (!next) return;
  event.preventDefault();
  button.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  show(next);
});
`;
