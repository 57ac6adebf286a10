// SPDX-License-Identifier: MIT

// Finds the texts of the page in its source, for the test of the tables: those that are in t(), tn()
// and tx(), and those that should be.
import ts from "typescript";

/** A text of the page, and whether it has a form for each plural. */
export interface Text {
  key: string;
  counted: boolean;
}

// What people read or hear of an element's attributes, and of our own components'.
const read =
  /^(aria-(label|description|valuetext|roledescription|placeholder)|title|placeholder|alt|label|name|now|text|help|hint|legend|heading|action|empty)$/;
const machine = new Set(["code", "kbd", "pre", "var", "samp"]);
const words = /\p{L}{2,}['’]?\p{L}*[,:;]? \p{L}/u; // at least two
const media = /^\([a-z-]+: [a-z-]+\)$/; // queries of CSS
const word = /^\p{Lu}\p{Ll}{2,}[….:]?$/u; // alone, like the name of a button
// Names of keys, of errors, of HTTP's headers and of types are such words, too.
const names =
  /^(Enter|Escape|Tab|Space|Backspace|Delete|Home|End|Shift|Control|Alt|Meta|Arrow\w+|Page\w+|Process|Authorization|Bearer|Error|File|Files|Object|Array|Geist|Mirostat|Penstock|Markdown|Unicode|Infinity)$/;

/** The texts of a file, and the places of those that are in none of the functions: "line: text". */
export function findTexts(path: string, code: string): { texts: Text[]; problems: string[] } {
  const file = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true);
  const lines = code.split("\n");
  const texts: Text[] = [];
  const problems: string[] = [];
  const complain = (node: ts.Node, text: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    const excused = [line, line - 1].some((at) => /\/\/ untranslated: ./.test(lines[at] ?? ""));
    if (!excused) problems.push(`${line + 1}: ${text.trim().replace(/\s+/g, " ").slice(0, 80)}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (
      ts.isCallExpression(node) &&
      ts.isIdentifier(node.expression) &&
      /^t[nx]?$/.test(node.expression.text)
    ) {
      const counted = node.expression.text === "tn";
      const taken = node.arguments.slice(counted ? 1 : 0, counted ? 3 : 1);
      const key = taken.at(-1);
      if (taken.every((one) => ts.isStringLiteralLike(one)) && key !== undefined)
        texts.push({ key: (key as ts.StringLiteralLike).text, counted });
      else complain(node, "the text of t(), tn() and tx() is written there");
      node.arguments.filter((one) => !taken.includes(one)).forEach(visit);
      return;
    }
    if (ts.isJsxAttribute(node) && isForCode(node)) return;
    if (ts.isJsxText(node)) {
      if (/\p{L}/u.test(node.text) && !machine.has(tagOf(node))) complain(node, node.text);
      return;
    }
    if (ts.isCallExpression(node) && isSelection(node.expression)) {
      visit(node.expression);
      return;
    }
    const text = textOf(node);
    if (text !== undefined && /\p{L}/u.test(text) && (isSaid(node) || isProse(text))) complain(node, text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { texts, problems };
}

/** The text of a string or a template, whose values are left out. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("\0");
}

function isProse(code: string): boolean {
  const text = code.replace(/<[a-z/][^>]*>/g, attributes);
  if (media.test(text)) return false;
  return words.test(text) || (word.test(text) && !names.test(text));
}

/** What people read of a tag of HTML. */
function attributes(tag: string): string {
  return /aria-label="([^"]*)"/.exec(tag)?.[1] ?? "";
}

/** Tells whether a string is what an element has as a child, or one of its texts as an attribute. */
function isSaid(node: ts.Node): boolean {
  let at = node;
  for (; !ts.isJsxExpression(at.parent) && !ts.isJsxAttribute(at.parent); at = at.parent) {
    const { parent } = at;
    const chosen =
      (ts.isConditionalExpression(parent) && parent.condition !== at) ||
      ts.isParenthesizedExpression(parent) ||
      (ts.isTemplateSpan(parent) && parent.expression === at) ||
      ts.isTemplateExpression(parent) ||
      (ts.isBinaryExpression(parent) && /^(&&|\|\||\?\?|\+)$/.test(parent.operatorToken.getText()));
    if (!chosen) return false;
  }
  const attribute = ts.isJsxAttribute(at.parent) ? at.parent : at.parent.parent;
  if (ts.isJsxAttribute(attribute)) return read.test(attribute.name.getText());
  return !machine.has(tagOf(at.parent));
}

/** Tells whether nobody reads an attribute: classes, names of icons, parameters, form fields. */
function isForCode({ name, parent, initializer }: ts.JsxAttribute): boolean {
  if (name.getText() !== "name") return name.getText() === "class";
  if (/^"[a-z_]+"$/.test(initializer?.getText() ?? "")) return true;
  return /^([a-z]|Icon$)/.test(parent.parent.tagName.getText());
}

/** Tells whether elements are looked for, by a selector of CSS. */
function isSelection(called: ts.Expression): boolean {
  return ts.isPropertyAccessExpression(called) && /^querySelector(All)?$/.test(called.name.text);
}

function tagOf({ parent }: ts.Node): string {
  return ts.isJsxElement(parent) ? parent.openingElement.tagName.getText() : "";
}
