// SPDX-License-Identifier: MIT

// Reads the text of office files: .docx, .pptx and .xlsx (ECMA-376), and .odt, .odp
// and .ods (OpenDocument).
import type { DocumentParts } from "../chats/message.ts";
import { type Unpacked, unzip } from "../chats/zip.ts";
import { t } from "../language/language.ts";
import { DocumentProblem, tooMuchText } from "./documentproblem.ts";

const mostUnpacked = 32 << 20; // bytes
const mostRatio = 200; // of what is unpacked to what is packed: a text has 20 or so
const smallest = 1 << 20; // bytes that may be unpacked of the smallest file

/** The parts of all that have text, or say where it is. */
const wanted =
  /^(word\/(document|footnotes|endnotes)|ppt\/(presentation|slides\/[^/]+)|xl\/(workbook|sharedStrings|styles|worksheets\/[^/]+)|content)\.xml$|^(ppt|xl)\/_rels\/(presentation|workbook)\.xml\.rels$/;

/** The text of an office file, and of how many slides or sheets it is. */
export interface OfficeText {
  text: string;
  parts?: DocumentParts;
}

/** Reads an office file with at most so many characters of text. Throws a DocumentProblem. */
export async function readOffice(file: Blob, mostText: number): Promise<OfficeText> {
  const most = Math.min(mostUnpacked, smallest + mostRatio * file.size);
  const unpacked = await unzip(file, wanted, most).catch((error) => {
    throw new DocumentProblem(
      t("it cannot be read: {error}.", { error: error instanceof Error ? error.message : String(error) }),
    );
  });
  const parts = new Parts(unpacked, new Collected(mostText));
  for (const read of [readWord, readSlides, readSheets, readOpenDocument]) {
    const found = await read(parts);
    if (found !== undefined) return { ...found, text: parts.out.text.trim() };
  }
  throw new DocumentProblem(t("it is an archive, and no office file. Unpack it, and add what is in it."));
}

/** A text that grows up to a bound. */
class Collected {
  private readonly parts: string[] = []; // a string that grows would be copied whenever its end is looked at
  private last = "\n"; // character
  length = 0;

  constructor(private readonly most: number) {}

  get text(): string {
    return this.parts.join("");
  }

  add(more: string): void {
    this.length += more.length;
    if (this.length > this.most) throw new DocumentProblem(tooMuchText);
    if (more === "") return;
    this.parts.push(more);
    this.last = more.slice(-1);
  }

  /** Begins a line, unless one has begun. */
  line(): void {
    if (this.last !== "\n") this.add("\n");
  }

  /** Parts words, unless something does. */
  space(): void {
    if (!/[\s(]/.test(this.last)) this.add(" ");
  }
}

/** The parts of a file, and the text that is found in them. */
class Parts {
  private readonly byName: Map<string, Blob>;

  constructor(
    unpacked: readonly Unpacked[],
    readonly out: Collected,
  ) {
    this.byName = new Map(unpacked.map(({ name, content }) => [name, content]));
  }

  /** The root of a part, which is read once; undefined if there is none of that name any more. */
  async root(name: string): Promise<Element | undefined> {
    const xml = await this.byName.get(name)?.text();
    if (xml === undefined) return undefined;
    this.byName.delete(name); // thousands of slides could name one large part
    // Entities could make a small text a huge one; office files have no use for them.
    if (xml.includes("<!DOCTYPE")) throw damaged;
    const document = new DOMParser().parseFromString(xml, "application/xml");
    if (document.getElementsByTagName("parsererror").length > 0) throw damaged;
    return document.documentElement;
  }

  /** Where the parts are that a part names, by the ids that it has for them. */
  async targets(folder: string, name: string): Promise<Map<string, string>> {
    const root = await this.root(`${folder}/_rels/${name}.xml.rels`);
    const relations = [...(root?.children ?? [])].map((relation): [string, string] => {
      const target = relation.getAttribute("Target") ?? ""; // untranslated: the format's
      const path = target.startsWith("/") ? target.slice(1) : `${folder}/${target}`;
      return [relation.getAttribute("Id") ?? "", path];
    });
    return new Map(relations);
  }
}

const damaged = new DocumentProblem(t("it cannot be read: it may be damaged."));

interface Visitor {
  enter(element: Element): unknown; // false: what is in it is passed over
  leave(element: Element): void;
  text(text: string, parent: Element): void;
}

/** Visits a tree in its order, however deep it is. */
function visit(root: Element, { enter, leave, text }: Visitor): void {
  let at: Node = root;
  for (;;) {
    let into: Node | null = null;
    if (isElement(at)) into = enter(at) === false ? null : at.firstChild;
    else if (at.nodeType === Node.TEXT_NODE || at.nodeType === Node.CDATA_SECTION_NODE)
      text(at.nodeValue ?? "", at.parentNode as Element);
    while (into === null) {
      if (isElement(at)) leave(at);
      if (at === root) return;
      into = at.nextSibling;
      if (into === null) at = at.parentNode as Element;
      else break;
    }
    at = into;
  }
}

function isElement(node: Node): node is Element {
  return node.nodeType === Node.ELEMENT_NODE;
}

/** An attribute by its name, in whatever namespace. */
function attribute(element: Element, name: string): string | undefined {
  return [...element.attributes].find(({ localName }) => localName === name)?.value;
}

type Found = Omit<OfficeText, "text"> | undefined; // undefined: it is another kind of file

async function readWord(parts: Parts): Promise<Found> {
  const body = await parts.root("word/document.xml");
  if (body === undefined) return undefined;
  writeParagraphs(body, parts.out);
  for (const kind of ["footnote", "endnote"]) {
    const notes = await parts.root(`word/${kind}s.xml`);
    for (const note of notes?.children ?? []) {
      if (attribute(note, "type") !== undefined) continue; // what stands between text and notes
      parts.out.line();
      parts.out.add(`${mark(kind, note)}: `);
      writeParagraphs(note, parts.out, true);
    }
  }
  return {};
}

/** What stands for a note in the text, and before it at the end. */
function mark(kind: string, element: Element): string {
  return `[^${kind === "endnote" ? "e" : ""}${attribute(element, "id") ?? ""}]`;
}

const passedOver = new Set(["Fallback", "rPh", "tracked-changes", "annotation", "note-citation"]); // untranslated: the format's

/** Writes paragraphs and tables of .docx and .pptx; in a line all in one. */
function writeParagraphs(root: Element, out: Collected, inLine = false): void {
  let within = inLine ? 1 : 0; // of cells
  let first = true; // cell of its row
  visit(root, {
    enter(element) {
      const { localName: name, parentElement: parent } = element;
      if (passedOver.has(name)) return false;
      if (name === "p" && within === 0) beginParagraph(element, out);
      if (name === "p" && within > 0) out.space();
      if (name === "tr") {
        out.line();
        first = true;
      }
      if (name === "tc") {
        if (within++ === 0 && !first) out.add(" | ");
        first = false;
      }
      if (name === "tab" && parent?.localName === "r") out.add("\t"); // others say where tabs lead
      if (name === "br" || name === "cr") out.add(within > 0 ? " " : "\n");
      const note = /^(foot|end)note(?=Reference$)/.exec(name)?.[0];
      if (note !== undefined) out.add(mark(note, element));
      return true;
    },
    leave({ localName: name }) {
      if (name === "tc") within--;
      if (name === "tr" || (name === "p" && within === 0)) out.line();
    },
    text(text, parent) {
      if (parent.localName === "t") out.add(within > 0 ? text.replace(/\s+/g, " ") : text);
    },
  });
}

/** Begins a paragraph of .docx with the mark of a heading or a list. */
function beginParagraph(paragraph: Element, out: Collected): void {
  out.line();
  const properties = [...(paragraph.firstElementChild?.children ?? [])];
  const style = properties.find(({ localName }) => localName === "pStyle");
  const level = /^(?:Title|Heading ?([1-6]))$/i.exec((style && attribute(style, "val")) ?? "");
  if (level !== null) heading(Number(level[1] ?? 1), out);
  else if (properties.some(({ localName }) => localName === "numPr")) out.add("- ");
}

function heading(level: number, out: Collected): void {
  out.add(`${out.length === 0 ? "" : "\n"}${"#".repeat(level)} `);
}

async function readSlides(parts: Parts): Promise<Found> {
  const presentation = await parts.root("ppt/presentation.xml");
  if (presentation === undefined) return undefined;
  const targets = await parts.targets("ppt", "presentation");
  const slides = [...presentation.getElementsByTagNameNS("*", "sldId")];
  for (const [i, slide] of slides.entries()) {
    const root = await parts.root(targets.get(relation(slide)) ?? "");
    if (root === undefined) continue;
    parts.out.line();
    parts.out.add(`${i === 0 ? "" : "\n"}[slide ${i + 1}]\n`);
    writeParagraphs(root, parts.out);
  }
  return { parts: { unit: "slide", count: slides.length } };
}

/** The id of the part that an element names: that is in a namespace, its own is not. */
function relation(element: Element): string {
  return (
    [...element.attributes].find(({ localName, namespaceURI }) => localName === "id" && namespaceURI !== null)
      ?.value ?? ""
  );
}

/** A text in one line. That of a shared string is made once, however many cells have it. */
const inLine = (text: string) => text.replace(/\s+/g, " ").trim();

const mostColumns = 16_384; // of a sheet

async function readSheets(parts: Parts): Promise<Found> {
  const workbook = await parts.root("xl/workbook.xml");
  if (workbook === undefined) return undefined;
  const targets = await parts.targets("xl", "workbook");
  const shared = [...((await parts.root("xl/sharedStrings.xml"))?.children ?? [])].map((item) =>
    inLine(writtenIn(item)),
  );
  const dated = datedStyles(await parts.root("xl/styles.xml"));
  const [properties] = workbook.getElementsByTagNameNS("*", "workbookPr");
  const begin = /^(1|true)$/.test((properties && attribute(properties, "date1904")) ?? "") ? 24_107 : 25_569;
  const written = (cell: Element): string => {
    const type = attribute(cell, "t");
    const value = [...cell.children].find(({ localName }) => localName === "v")?.textContent ?? "";
    if (type === "s") return shared[Number(value)] ?? "";
    if (type === "inlineStr") return inLine(writtenIn(cell));
    if (type === "b") return value === "1" ? "TRUE" : "FALSE";
    const date = type === undefined || type === "n" ? dated[Number(attribute(cell, "s"))] : false;
    return date && value !== "" ? dateOf(Number(value), begin) : inLine(value);
  };
  const sheets = [...workbook.getElementsByTagNameNS("*", "sheet")];
  for (const sheet of sheets) {
    const root = await parts.root(targets.get(relation(sheet)) ?? "");
    if (root === undefined) continue;
    parts.out.line();
    heading(2, parts.out);
    parts.out.add(`${attribute(sheet, "name") ?? ""}\n`);
    const [data] = root.getElementsByTagNameNS("*", "sheetData");
    for (const row of data?.children ?? []) writeRow(row, written, parts.out); // rows in rows would be read for each
  }
  return { parts: { unit: "sheet", count: sheets.length } };
}

/** Writes the cells of a row with tabs between them; nothing of a row that is empty. */
function writeRow(row: Element, written: (cell: Element) => string, out: Collected): void {
  let column = 0; // of what the line ends with
  for (const [i, cell] of [...row.children].entries()) {
    const value = written(cell);
    const at = columnOf(attribute(cell, "r")) ?? i;
    if (value === "" || at > mostColumns) continue;
    out.add("\t".repeat(Math.max(0, at - column)) + value);
    column = Math.max(at, column);
  }
  out.line();
}

/** The number of a column by its letters: of C5 it is 2. */
function columnOf(place = ""): number | undefined {
  const [letters] = /^[A-Z]{1,3}/.exec(place) ?? [];
  if (letters === undefined) return undefined;
  return [...letters].reduce((n, letter) => 26 * n + letter.charCodeAt(0) - 64, 0) - 1;
}

/** What is written in a cell or a shared string, without how it is spoken. */
function writtenIn(element: Element): string {
  let text = "";
  visit(element, {
    enter: ({ localName }) => !passedOver.has(localName),
    leave() {},
    text(more, { localName }) {
      if (localName === "t") text += more;
    },
  });
  return text;
}

const longestCode = 255; // characters of the format of a number, as Excel has it

/** Which of the styles of cells are dates or times. */
function datedStyles(styles: Element | undefined): boolean[] {
  const codes = new Map<string, string>();
  for (const format of styles?.getElementsByTagNameNS("*", "numFmt") ?? [])
    codes.set(
      attribute(format, "numFmtId") ?? "",
      (attribute(format, "formatCode") ?? "").slice(0, longestCode),
    );
  const [cells] = styles?.getElementsByTagNameNS("*", "cellXfs") ?? [];
  return [...(cells?.children ?? [])].map((style) => {
    const id = attribute(style, "numFmtId") ?? "";
    const code = codes.get(id);
    if (code === undefined)
      return (Number(id) >= 14 && Number(id) <= 22) || (Number(id) >= 45 && Number(id) <= 47);
    return /[ymdhs]/i.test(code.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ""));
  });
}

/** A day, a time, or both, of the number that a sheet has for it. */
function dateOf(serial: number, begin: number): string {
  const time = new Date(Math.round((serial - begin) * 86_400) * 1000);
  if (Number.isNaN(time.getTime())) return String(serial);
  const [day = "", clock = ""] = time.toISOString().slice(0, 19).split("T");
  if (Number.isInteger(serial)) return day;
  return serial < 1 ? clock : `${day} ${clock}`;
}

async function readOpenDocument(parts: Parts): Promise<Found> {
  const root = await parts.root("content.xml");
  if (root?.localName !== "document-content") return undefined;
  const { out } = parts;
  const [book] = root.getElementsByTagNameNS("*", "spreadsheet");
  if (book !== undefined) return writeOpenSheets(book, out);
  let slides = 0;
  let within = 0; // of cells and notes, which stay in one line
  let first = true; // cell of its row
  let paragraphs = 0;
  visit(root, {
    enter(element) {
      const { localName: name, parentElement: parent } = element;
      if (passedOver.has(name)) return false;
      if (name === "page" && parent?.localName === "presentation") {
        out.line();
        out.add(`${slides++ === 0 ? "" : "\n"}[slide ${slides}]\n`);
      }
      if (name === "notes" && parent?.localName === "page") return false; // of the speaker
      if (name === "note") out.add(" (");
      if (name === "table-row") {
        out.line();
        first = true;
      }
      if (name === "table-cell") {
        if (within === 0 && !first) out.add(" | ");
        first = false;
      }
      if (name === "table-cell" || name === "note") within++;
      if (name === "p" || name === "h") {
        paragraphs++;
        if (within > 0) out.space();
        else out.line();
        if (name === "h") heading(Math.min(6, Number(attribute(element, "outline-level")) || 1), out);
        else if (parent?.localName === "list-item" && within === 0) out.add("- ");
      }
      if (name === "tab") out.add("\t");
      if (name === "s") out.add(" ");
      if (name === "line-break") out.add(within > 0 ? " " : "\n");
      return true;
    },
    leave({ localName: name }) {
      if (name === "table-cell" || name === "note") within--;
      if (name === "note") out.add(")");
      if (name === "p" || name === "h") paragraphs--;
      if (within === 0 && (name === "p" || name === "h" || name === "table-row")) out.line();
    },
    text(text) {
      if (paragraphs > 0) out.add(text.replace(/\s+/g, " "));
    },
  });
  return slides === 0 ? {} : { parts: { unit: "slide", count: slides } };
}

/** Writes the tables of a spreadsheet, whose rows may be in groups. */
function writeOpenSheets(book: Element, out: Collected): Found {
  const sheets = [...book.children].filter(({ localName }) => localName === "table");
  for (const sheet of sheets) {
    out.line();
    heading(2, out);
    out.add(`${attribute(sheet, "name") ?? ""}\n`);
    visit(sheet, {
      enter(element) {
        if (element.localName === "table-row") writeOpenRow(element, out);
        return element === sheet || /^table-(row-group|header-rows|rows)$/.test(element.localName);
      },
      leave() {},
      text() {},
    });
  }
  return { parts: { unit: "sheet", count: sheets.length } };
}

/** Writes a row as often as it stands, with tabs between its cells; of an empty one nothing. */
function writeOpenRow(row: Element, out: Collected): void {
  let next = 0; // column
  const cells = [...row.children].flatMap((cell) => {
    const [from, value] = [next, openValue(cell)];
    next += times(cell, "number-columns-repeated");
    return value === "" || from >= mostColumns ? [] : [{ value, from, end: Math.min(next, mostColumns) }];
  });
  if (cells.length === 0) return; // else each turn writes something, which bounds how many there are
  for (let left = times(row, "number-rows-repeated"); left > 0; left--) {
    let column = 0; // of what the line ends with
    for (const { value, from, end } of cells)
      for (let at = from; at < end; at++) {
        out.add("\t".repeat(at - column) + value);
        column = at;
      }
    out.line();
  }
}

/** What a cell shows, in one line; days and times as such. */
function openValue(cell: Element): string {
  if (cell.localName !== "table-cell") return ""; // another one covers it
  if (attribute(cell, "value-type") === "date")
    return inLine((attribute(cell, "date-value") ?? "").replace("T", " "));
  const paragraphs = [...cell.children].filter(({ localName }) => localName === "p");
  return inLine(paragraphs.map((paragraph) => paragraph.textContent ?? "").join(" "));
}

/** How often a row or a cell stands there. */
function times(element: Element, name: string): number {
  return Math.max(1, Math.floor(Number(attribute(element, name)) || 1));
}
