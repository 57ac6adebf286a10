// SPDX-License-Identifier: MIT
import type { Attachment } from "./message.ts";

const largest = 1 << 20; // bytes of one file
const largestSum = 4 << 20; // characters of all files of a question

/** A file as the browser gives it. */
export interface PickedFile {
  name: string;
  size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Files as texts, and in words why others were not taken. */
export interface Attached {
  files: Attachment[];
  problems: string[];
}

/** Reads files to be added to those that a question has. */
export async function attach(
  picked: readonly PickedFile[],
  present: readonly Attachment[],
): Promise<Attached> {
  const files: Attachment[] = [];
  const problems: string[] = [];
  let sum = present.reduce((total, { text }) => total + text.length, 0);
  for (const file of picked) {
    const text = await read(file);
    if (typeof text !== "string") problems.push(text.problem);
    else if (sum + text.length > largestSum)
      problems.push(
        `${file.name} was not added: the files of a message can have ${megabytes(largestSum)} together.`,
      );
    else if (![...present, ...files].some((other) => other.name === file.name && other.text === text)) {
      files.push({ name: file.name, text });
      sum += text.length;
    }
  }
  return { files, problems };
}

async function read(file: PickedFile): Promise<string | { problem: string }> {
  if (file.size > largest)
    return {
      problem: `${file.name} was not added: it has ${megabytes(file.size)}, and a file can have ${megabytes(largest)}.`,
    };
  if (file.size === 0) return { problem: `${file.name} was not added: it is empty.` };
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (bytes === undefined)
    return { problem: `${file.name} was not added: the browser cannot read it. Is it a folder?` };
  const text = decode(new Uint8Array(bytes));
  return text ?? { problem: `${file.name} was not added: it is not a text file. Only text can be added.` };
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

function megabytes(bytes: number): string {
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format(bytes / (1 << 20))} MB`;
}
