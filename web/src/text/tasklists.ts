// SPDX-License-Identifier: MIT

// Markdown rules for lists of tasks: [ ] and [x].
import type MarkdownIt from "markdown-it";
import { t } from "../language/language.ts";

/** Draws list items that begin with [ ] or [x] as tasks. */
export function tasks(markdown: MarkdownIt): void {
  markdown.core.ruler.after("inline", "tasks", ({ tokens, Token }) => {
    tokens.forEach((inline, at) => {
      const item = tokens[at - 2];
      const words = inline.children?.[0];
      if (item?.type !== "list_item_open" || words?.type !== "text") return;
      const mark = /^\[([ xX])\] +/.exec(words.content);
      if (mark === null) return;
      words.content = words.content.slice(mark[0].length);
      const task = new Token("task", "", 0);
      task.info = mark[1] === " " ? "" : "checked";
      inline.children?.unshift(task);
      item.attrJoin("class", "task");
    });
  });
  markdown.renderer.rules.task = (tokens, index) => {
    const checked = tokens[index]?.info === "checked";
    const label = markdown.utils.escapeHtml(checked ? t("Done") : t("Not done"));
    return `<input type="checkbox" disabled${checked ? " checked" : ""} aria-label="${label}"> `;
  };
}
