// SPDX-License-Identifier: MIT

// Finds the texts of the page in its source, for the test of the tables: those that are in t(),
// tn() and tx(), and those that should be.
import { parse } from "@babel/parser";
import {
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExportAllDeclaration,
  isExportNamedDeclaration,
  isIdentifier,
  isImportDeclaration,
  isJSXAttribute,
  isJSXElement,
  isJSXExpressionContainer,
  isJSXIdentifier,
  isJSXOpeningElement,
  isJSXText,
  isLogicalExpression,
  isMemberExpression,
  isOptionalCallExpression,
  isOptionalMemberExpression,
  isStringLiteral,
  isTemplateLiteral,
  type JSXAttribute,
  type Node,
  VISITOR_KEYS,
} from "@babel/types";

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

/** A part of a file's syntax, and those that it is in, the innermost first. */
type Within = readonly [Node, ...Node[]];

/** The texts of a file, and the places of those that are in none of the functions: "line: text". */
export function findTexts(path: string, code: string): { texts: Text[]; problems: string[] } {
  const lines = code.split("\n");
  const texts: Text[] = [];
  const problems: string[] = [];
  const complain = (start: number, text: string) => {
    const line = code.slice(0, start).split("\n").length;
    const excused = [line - 1, line - 2].some((at) => /\/\/ untranslated: ./.test(lines[at] ?? ""));
    if (!excused) problems.push(`${line}: ${text.trim().replace(/\s+/g, " ").slice(0, 80)}`);
  };
  const visit = (within: Within): void => {
    const [node] = within;
    const start = node.start ?? 0;
    const visitAll = (nodes: readonly Node[]) => {
      for (const one of nodes) visit([one, ...within]);
    };
    if (isImportDeclaration(node) || isExportOfOthers(node) || isOfTypes(node)) return;
    if (isCallExpression(node) && isIdentifier(node.callee) && /^t[nx]?$/.test(node.callee.name)) {
      const counted = node.callee.name === "tn";
      const taken = node.arguments.slice(counted ? 1 : 0, counted ? 3 : 1);
      const key = taken.map(literal).at(-1);
      if (key !== undefined && taken.every((one) => literal(one) !== undefined)) texts.push({ key, counted });
      else complain(start, "the text of t(), tn() and tx() is written there");
      visitAll(node.arguments.filter((one) => !taken.includes(one)));
      return;
    }
    if (isJSXAttribute(node) && isForCode(node, within[1])) return;
    if (isJSXText(node)) {
      const blanks = /^\s*/.exec(node.value)?.[0].length ?? 0;
      if (/\p{L}/u.test(node.value) && !machine.has(tagOf(within[1]))) complain(start + blanks, node.value);
      return;
    }
    if ((isCallExpression(node) || isOptionalCallExpression(node)) && isSelection(node.callee)) {
      visitAll([node.callee]);
      return;
    }
    const text = textOf(node);
    if (text !== undefined && /\p{L}/u.test(text) && (isSaid(within) || isProse(text))) complain(start, text);
    visitAll(childrenOf(node));
  };
  visit([
    parse(code, {
      sourceType: "module",
      plugins: path.endsWith("x") ? ["typescript", "jsx"] : ["typescript"],
    }),
  ]);
  return { texts, problems };
}

function childrenOf(node: Node): Node[] {
  const values = (VISITOR_KEYS[node.type] ?? []).flatMap((key) => node[key as keyof Node] as unknown);
  return values.filter((value): value is Node => typeof value === "object" && value !== null);
}

/** Tells whether what is exported is written elsewhere. */
function isExportOfOthers(node: Node): boolean {
  return isExportAllDeclaration(node) || (isExportNamedDeclaration(node) && !node.declaration);
}

/** Tells whether a part is about types alone; `x as T` and `x!` have a value in them. */
function isOfTypes({ type }: Node): boolean {
  return /^TS(?!(As|NonNull|Satisfies|Instantiation)Expression$|ParameterProperty$|Enum)/.test(type);
}

/** The text of a string or a template without values. */
function literal(node: Node): string | undefined {
  return isTemplateLiteral(node) && node.expressions.length > 0 ? undefined : textOf(node);
}

/** The text of a string or a template, whose values are left out. */
function textOf(node: Node): string | undefined {
  if (isStringLiteral(node)) return node.value;
  if (!isTemplateLiteral(node)) return undefined;
  return node.quasis.map(({ value }) => value.cooked).join("\0");
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

/** Tells whether a string is a child of an element, or one of its texts as an attribute. */
function isSaid(within: Within): boolean {
  const at = within.findIndex((_, i) => !isChosen(within[i + 1], within[i]));
  const [parent, around] = within.slice(at + 1);
  const attribute = isJSXAttribute(parent) ? parent : around;
  if (!isJSXExpressionContainer(parent) && parent !== attribute) return false;
  if (isJSXAttribute(attribute)) return isJSXIdentifier(attribute.name) && read.test(attribute.name.name);
  return !machine.has(tagOf(around));
}

/** Tells whether a text may become all of what it is in, or a part of it. */
function isChosen(parent: Node | undefined, node: Node | undefined): boolean {
  if (isConditionalExpression(parent)) return parent.test !== node;
  if (isBinaryExpression(parent)) return parent.operator === "+";
  return isLogicalExpression(parent) || isTemplateLiteral(parent);
}

/** Tells whether nobody reads an attribute: classes, names of icons, parameters, form fields. */
function isForCode({ name, value }: JSXAttribute, element: Node | undefined): boolean {
  if (name.name !== "name") return name.name === "class";
  if (isStringLiteral(value) && /^[a-z_]+$/.test(value.value)) return true;
  return /^([a-z]|Icon$)/.test(nameOf(element));
}

/** Tells whether elements are looked for, by a selector of CSS. */
function isSelection(called: Node): boolean {
  return (
    (isMemberExpression(called) || isOptionalMemberExpression(called)) &&
    isIdentifier(called.property) &&
    /^querySelector(All)?$/.test(called.property.name)
  );
}

function tagOf(node: Node | undefined): string {
  return isJSXElement(node) ? nameOf(node.openingElement) : "";
}

function nameOf(element: Node | undefined): string {
  return isJSXOpeningElement(element) && isJSXIdentifier(element.name) ? element.name.name : "";
}
