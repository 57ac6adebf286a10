// SPDX-License-Identifier: MIT

// Turns files that a person picked into attachments of a question.
import { language, t } from "../language/language.ts";
import { DocumentProblem } from "../media/documentproblem.ts";
import { type Abilities, eachOnce, mostFiles, takesMedium, totalSize } from "../media/medialimits.ts";
import { headLength, type MediaType, typeOf } from "../media/mediatype.ts";
import { type OpenPDF, openPDF } from "../media/pdf.ts";
import { readPicture } from "../media/picture.ts";
import { sha256 } from "../media/sha256.ts";
import { readSound } from "../media/sound.ts";
import { type Attachment, isMedium, type Medium, type TextFile } from "./message.ts";

const largest = 1 << 20; // bytes of one text file
const largestSum = 4 << 20; // characters of all text files of a question
const mostDocument = 50 << 20; // bytes of a PDF or an office file
const largestMedium = 100 << 20; // bytes of a picture or a sound, before it is made smaller

const tooMuchText = t("the text files of a message can have {size} together.", {
  size: megabytes(largestSum),
});

/** A file as the browser gives it. */
export type PickedFile = Pick<File, "name" | "size" | "type" | "arrayBuffer"> & {
  slice(from: number, to: number): Pick<Blob, "arrayBuffer">;
};

/** Files that are ready to be sent, and in words why others were not taken. */
export interface Attached {
  files: Attachment[];
  problems: string[];
}

/** What decides whether pictures and sounds are taken. */
export interface AttachContext {
  model: string;
  abilities: Abilities;
  sent: readonly Medium[]; // what the chat sends besides
  most: number; // bytes of all that is sent
  hold(file: string, bytes: Blob): void; // gets the bytes of what is taken
  /** Asks a person what is to be taken of a PDF, where the model sees; absent: its text is. */
  choose?(pdf: PDFFacts): Promise<PDFChoice>;
}

/** What a person knows of a PDF before choosing. */
export interface PDFFacts {
  name: string;
  pages: number;
  text: string; // "": it has none
}

/** What is taken of a PDF: its text, these pages as pictures, or nothing. */
export type PDFChoice = "text" | { from: number; to: number } | undefined;

/** How a browser reads pictures and sounds. */
export const mediaReaders = {
  picture: readPicture,
  sound: readSound,
  pdf: openPDF,
  office: async (file: Blob, mostText: number) =>
    (await import("../media/office.ts")).readOffice(file, mostText),
};

/** Reads files to be added to those that a question has. */
export async function attach(
  picked: readonly PickedFile[],
  present: readonly Attachment[],
  taking: AttachContext,
  by = mediaReaders,
): Promise<Attached> {
  const files: Attachment[] = [];
  const problems: string[] = [];
  const add = (file: PickedFile, read: Attachment | string) => {
    if (typeof read === "string")
      problems.push(t("{name} was not added: {problem}", { name: file.name, problem: read }));
    else if (![...present, ...files].some((other) => isSame(other, read))) files.push(read);
    return typeof read !== "string";
  };
  for (const file of picked) {
    const read = await readAny(file, [...present, ...files], taking, by);
    if (!Array.isArray(read)) add(file, read);
    else
      for (const page of read) {
        const drawn = await readAny(page, [...present, ...files], taking, by);
        if (Array.isArray(drawn) || !add(page, drawn)) break; // nor would the pages after it be
      }
  }
  return { files, problems };
}

/** A text that was pasted, as a file of a name that no other has; in words if it is not taken. */
export function attachText(text: string, present: readonly Attachment[]): TextFile | string {
  if (textLength(present) + text.length > largestSum)
    return t("The text was not added: {problem}", { problem: tooMuchText });
  const named = (n: number) => (n === 1 ? t("Pasted text.txt") : t("Pasted text {n}.txt", { n }));
  let n = 1;
  while (present.some(({ name }) => name === named(n))) n++;
  return { name: named(n), text };
}

function textLength(files: readonly Attachment[]): number {
  return files.reduce((sum, file) => sum + (isMedium(file) ? 0 : file.text.length), 0);
}

/** A file, pages of it that are taken in its place, or in words why it is not taken. */
async function readAny(
  file: PickedFile,
  present: readonly Attachment[],
  taking: AttachContext,
  by: typeof mediaReaders,
): Promise<Attachment | PickedFile[] | string> {
  const start = await file
    .slice(0, headLength)
    .arrayBuffer()
    .catch(() => undefined);
  if (start === undefined) return t("the browser cannot read it. Is it a folder?");
  if (file.size === 0) return t("it is empty.");
  const head = new Uint8Array(start);
  const type = typeOf(head);
  const begins = String.fromCharCode(...head);
  if (begins.includes("%PDF-")) return readPDF(file, present, taking, by);
  if (begins.startsWith("PK\x03\x04")) return readOffice(file, present, by);
  if (begins.startsWith("\xd0\xcf\x11\xe0"))
    return t("it is an office file of an old kind. Save it as .docx, .xlsx or .pptx.");
  const general = /^(image|audio)\/(?!svg)/.exec(type ?? file.type)?.[0];
  if (general !== undefined) return readMedium(file, head, type, general, present, taking, by);
  const text = await readText(file);
  if (typeof text !== "string") return text.problem;
  if (textLength(present) + text.length > largestSum) return tooMuchText;
  return { name: file.name, text };
}

/** The text of an office file. */
async function readOffice(
  file: PickedFile,
  present: readonly Attachment[],
  by: typeof mediaReaders,
): Promise<TextFile | string> {
  if (file.size > mostDocument)
    return t("it has {size}, and an office file can have {most}.", sizes(file, mostDocument));
  try {
    const whole = new Blob([await file.arrayBuffer()]);
    const read = await by.office(whole, largestSum - textLength(present));
    return read.text === "" ? t("it has no text.") : { name: file.name, ...read };
  } catch (error) {
    return problemOf(error);
  }
}

/** What is said of a document that cannot be read. What went wrong otherwise is thrown on. */
function problemOf(error: unknown): string {
  if (error instanceof DocumentProblem) return error.message;
  throw error;
}

/** What a person wants of a PDF: its text, or pages of it as pictures. */
async function readPDF(
  file: PickedFile,
  present: readonly Attachment[],
  { model, abilities, choose }: AttachContext,
  by: typeof mediaReaders,
): Promise<TextFile | PickedFile[] | string> {
  if (file.size > mostDocument)
    return t("it has {size}, and a PDF can have {most}.", sizes(file, mostDocument));
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return t("the browser cannot read it.");
  let pdf: OpenPDF | undefined;
  try {
    pdf = await by.pdf(bytes, largestSum - textLength(present));
    const { pages, text } = pdf;
    const { name } = file;
    if (text === "" && !abilities.sees)
      return t(
        "it has no text: its pages may be scanned. {model} cannot see them. Choose a model that can.",
        { model },
      );
    const choice = abilities.sees && choose ? await choose({ name, pages, text }) : "text";
    if (choice === undefined) return [];
    if (choice !== "text") return await drawPages(pdf, name, choice);
    return text === ""
      ? t("it has no text: its pages may be scanned.")
      : { name, text, parts: { unit: "page", count: pages } };
  } catch (error) {
    return problemOf(error);
  } finally {
    pdf?.close();
  }
}

async function drawPages(
  pdf: OpenPDF,
  name: string,
  { from, to }: { from: number; to: number },
): Promise<PickedFile[]> {
  const drawn: PickedFile[] = [];
  for (let page = from; page <= to; page++) {
    const picture = await pdf.draw(page);
    drawn.push(Object.assign(picture, { name: t("{name}, page {page}", { name, page: `${page}` }) }));
  }
  return drawn;
}

/** A picture or a sound, made as small as it is sent. */
async function readMedium(
  file: PickedFile,
  head: Uint8Array,
  type: MediaType | undefined,
  general: string,
  present: readonly Attachment[],
  { model, abilities, sent, most, hold }: AttachContext,
  by: typeof mediaReaders,
): Promise<Medium | string> {
  const picture = general.startsWith("image/");
  if (!takesMedium(abilities, { type: general }))
    return picture
      ? t("{model} cannot see pictures. Choose a model that can.", { model })
      : t("{model} cannot hear sounds. Choose a model that can.", { model });
  if (file.size > largestMedium)
    return picture
      ? t("it has {size}, and a picture can have {most}.", sizes(file, largestMedium))
      : t("it has {size}, and a sound can have {most}.", sizes(file, largestMedium));
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return t("the browser cannot read it.");
  const whole = new Blob([bytes], { type: type ?? file.type });
  const read = await (picture ? by.picture(whole, type, head) : by.sound(whole, type)).catch(() => undefined);
  if (read === undefined)
    return picture ? t("the browser cannot read this picture.") : t("the browser cannot read this sound.");
  const { bytes: ready, ...facts } = read;
  const name = sha256(new Uint8Array(await ready.arrayBuffer()));
  const medium: Medium = { name: file.name, file: name, size: ready.size, ...facts };
  const all = eachOnce([...sent, ...present.filter(isMedium), medium]);
  if (all.length > mostFiles) return t("a chat can have {n} pictures and sounds.", { n: mostFiles });
  if (totalSize(all) > most)
    return t(
      "the pictures and sounds of a chat can have {most} together, and with it they have {size}.",
      sizes({ size: totalSize(all) }, most),
    );
  hold(name, ready);
  return medium;
}

function isSame(one: Attachment, other: Attachment): boolean {
  if (isMedium(one) || isMedium(other)) return isMedium(one) && isMedium(other) && one.file === other.file;
  return one.name === other.name && one.text === other.text;
}

async function readText(file: PickedFile): Promise<string | { problem: string }> {
  if (file.size > largest)
    return { problem: t("it has {size}, and a text file can have {most}.", sizes(file, largest)) };
  const bytes = await file.arrayBuffer().catch(() => undefined);
  const text = bytes && decode(new Uint8Array(bytes));
  return text ?? { problem: t("it is no text, no PDF, no office file, no picture and no sound.") };
}

/** The text of bytes, or undefined if they are none. */
function decode(bytes: Uint8Array): string | undefined {
  const mark = `${bytes[0]},${bytes[1]}`;
  const encoding = mark === "255,254" ? "utf-16le" : mark === "254,255" ? "utf-16be" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: texts have none of these
    return /[\u0000-\u0008\u000E-\u001A]/.test(text) ? undefined : text.replaceAll("\r\n", "\n");
  } catch {
    return undefined;
  }
}

/** How large a file is, and how large it can be. */
function sizes({ size }: { size: number }, most: number): { size: string; most: string } {
  return { size: megabytes(size), most: megabytes(most) };
}

function megabytes(bytes: number): string {
  return `${new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(bytes / (1 << 20))} MB`;
}
