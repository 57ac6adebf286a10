// SPDX-License-Identifier: MIT

// Markdown to HTML that is safe to insert.
import MarkdownIt, { type Token } from "markdown-it";
import { t } from "../language/language.ts";
import { visibleHTML, withoutControls } from "./bidi.ts";
import { cjkEmphasis } from "./cjkemphasis.ts";
import { dataImages } from "./dataimages.ts";
import { footnotes } from "./footnotes.ts";
import { harmlessTags } from "./harmlesstags.ts";
import { blocks } from "./markdownblocks.ts";
import { math } from "./math.ts";
import { tasks } from "./tasklists.ts";

/**
 * Markdown to HTML that is safe to insert: with `html` off every tag in the text is escaped but for
 * the few of harmlesstags.ts, which have no attributes; only links to the web and to mail are
 * links, and an image becomes a link, so that a text cannot make the browser load anything.
 */
export const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true })
  .use(math)
  .use(footnotes)
  .use(tasks)
  .use(blocks)
  .use(harmlessTags)
  .use(dataImages)
  .use(cjkEmphasis);

const { escapeHtml } = markdown.utils;
const { rules } = markdown.renderer;
// untranslated: attributes
const elsewhere = 'target="_blank" rel="noopener noreferrer nofollow"';

markdown.validateLink = (url) => /^(https?:\/\/|mailto:)/i.test(url.trim());

rules.text = (tokens, index) => visibleHTML(escapeHtml(tokens[index]?.content ?? ""));

rules.code_inline = (tokens, index) =>
  `<code>${visibleHTML(escapeHtml(tokens[index]?.content ?? ""))}</code>`;

rules.link_open = (tokens, index) => {
  const link = tokens[index];
  const title = String(link?.attrGet("title") ?? "");
  const shown = title === "" ? "" : ` title="${escapeHtml(withoutControls(title))}"`;
  return `<a href="${escapeHtml(String(link?.attrGet("href") ?? ""))}"${shown} ${elsewhere}>`;
};

rules.image = (tokens, index) => {
  const image = tokens[index];
  const label = visibleHTML(escapeHtml(image?.content || t("image")));
  return `<a href="${escapeHtml(String(image?.attrGet("src") ?? ""))}" ${elsewhere}>${label}</a>`;
};

rules.table_open = () =>
  `<div class="table" role="region" aria-label="${escapeHtml(t("Table"))}" tabindex="0"><table dir="auto">\n`;
rules.table_close = () => "</table></div>\n";

// style attributes in HTML text are against the page's policy
const cell = (tag: string) => (tokens: Token[], index: number) => {
  const align = /(left|center|right)/.exec(String(tokens[index]?.attrGet("style") ?? ""))?.[0];
  return align === undefined ? `<${tag}>` : `<${tag} class="${align}">`;
};
rules.th_open = cell("th");
rules.td_open = cell("td");

rules.fence = (tokens, index) => {
  const { info = "", content = "" } = tokens[index] ?? {};
  return codeHTML(languageOf(info), content);
};
rules.code_block = (tokens, index) => codeHTML("", tokens[index]?.content ?? "");

/** The language that the first line of a fence names, or "". */
export function languageOf(info: string): string {
  const name = markdown.utils.unescapeAll(info).trim().split(/\s/)[0] ?? "";
  return withoutControls(name).slice(0, 30);
}

/** A block of code with its head: the language, and a button that copies it. */
export function codeHTML(language: string, code: string): string {
  const name = escapeHtml(language);
  return (
    `<div class="code" data-language="${name.toLowerCase()}"><div class="head"><span>${name || escapeHtml(t("text"))}</span>` +
    `<button type="button" class="copy">${escapeHtml(t("Copy"))}</button></div>` +
    `<pre tabindex="0"><code>${visibleHTML(escapeHtml(code))}</code></pre></div>\n`
  );
}

export function renderMarkdown(text: string): string {
  return markdown.render(text);
}
