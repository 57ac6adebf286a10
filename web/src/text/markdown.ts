// SPDX-License-Identifier: MIT
import MarkdownIt from "markdown-it";

/**
 * Markdown to HTML that is safe to insert: with `html` off every tag in the text is escaped, markdown-it
 * refuses javascript:, vbscript:, file: and data: links, and an image becomes a link, so that a text
 * cannot make the browser load anything.
 */
const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });

markdown.renderer.rules.link_open = (tokens, index, options, _env, self) => {
  tokens[index]?.attrSet("target", "_blank");
  tokens[index]?.attrSet("rel", "noopener noreferrer nofollow");
  return self.renderToken(tokens, index, options);
};

markdown.renderer.rules.image = (tokens, index) => {
  const image = tokens[index];
  const quote = markdown.utils.escapeHtml;
  const source = quote(String(image?.attrGet("src") ?? ""));
  const label = quote(image?.content || "image");
  return `<a href="${source}" target="_blank" rel="noopener noreferrer nofollow">${label}</a>`;
};

export function render(text: string): string {
  return markdown.render(text);
}

/** What a longer text adds to the page: blocks that will not change any more, and the one that still may. */
export interface Growth {
  settled: string; // HTML of the blocks that became final with this text; often empty
  tail: string; // HTML of what follows them
}

/**
 * Renders a text that grows at its end. A block of Markdown is final once a complete line of the next one
 * is there, so each step parses only what follows the last final block, not the whole answer again.
 */
export class GrowingMarkdown {
  private offset = 0; // where the first block that is not final begins

  /** text is the whole text so far and starts with the one of the call before. */
  grow(text: string): Growth {
    const open = text.replaceAll("\r", "").slice(this.offset); // lines then end as lineStart expects
    const env = {};
    const tokens = markdown.parse(open, env);
    const last = tokens.findLastIndex(
      (token) => token.level === 0 && token.nesting >= 0 && token.map !== null,
    );
    const cut = lineStart(open, tokens[last]?.map?.[0] ?? 0);
    if (last <= 0 || !open.includes("\n", cut)) {
      return { settled: "", tail: markdown.renderer.render(tokens, markdown.options, env) };
    }
    this.offset += cut;
    return {
      settled: markdown.renderer.render(tokens.slice(0, last), markdown.options, env),
      tail: markdown.renderer.render(tokens.slice(last), markdown.options, env),
    };
  }
}

function lineStart(text: string, line: number): number {
  let at = 0;
  for (; line > 0; line--) at = text.indexOf("\n", at) + 1;
  return at;
}
