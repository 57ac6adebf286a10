// SPDX-License-Identifier: MIT

// Reads PDFs with the worker that can, within bounds of time and size.
import { language, t } from "../language/language.ts";
import { DocumentProblem, tooMuchText } from "./documentproblem.ts";
import type { PDFAsk, PDFReply } from "./pdf.worker.ts";

const mostPages = 2000;
/** Pages that are drawn of one PDF at a time: a chat can have 128 pictures. */
export const mostDrawn = 32;
// In milliseconds; the worker is ended then.
const readFor = 60_000;
const drawFor = 30_000;

/** A PDF that is open: a worker has it until it is closed. */
export interface OpenPDF {
  pages: number;
  text: string; // of all pages
  draw(page: number): Promise<Blob>; // from 1; throws a DocumentProblem
  close(): void;
}

/** Opens a PDF and reads its text, of so many characters at most. Throws a DocumentProblem. */
export async function openPDF(bytes: ArrayBuffer, mostText: number): Promise<OpenPDF> {
  const worker = new Worker(new URL("./pdf.worker.ts", import.meta.url), { type: "module", name: language });
  const close = () => worker.terminate();
  try {
    const read = await ask(worker, { open: bytes, mostPages, mostText }, readFor);
    if (!("text" in read)) throw unreadable;
    const draw = async (page: number) => {
      const drawn = await ask(worker, { draw: page }, drawFor);
      if (!("picture" in drawn)) throw unreadable;
      return drawn.picture;
    };
    return { ...read, draw, close };
  } catch (error) {
    close();
    throw error;
  }
}

const unreadable = new DocumentProblem(t("it cannot be read: it may be damaged."));

/** Asks the worker, and ends it if it takes too long. */
function ask(worker: Worker, question: PDFAsk, most: number): Promise<PDFReply> {
  return new Promise((resolve, reject) => {
    const fail = (problem: DocumentProblem) => {
      worker.terminate();
      reject(problem);
    };
    const timer = setTimeout(() => fail(new DocumentProblem(t("it takes too long to read."))), most);
    worker.onerror = () => fail(unloaded);
    worker.onmessage = ({ data }: MessageEvent<PDFReply | { action: string }>) => {
      if ("action" in data) return; // of PDF.js itself, which believes to be alone there
      clearTimeout(timer);
      if ("problem" in data) fail(problemOf(data));
      else resolve(data);
    };
    worker.postMessage(question, "open" in question ? [question.open] : []);
  });
}

const unloaded = new DocumentProblem(
  t(
    "the code that reads PDFs stopped, or could not be loaded. If the server was updated meanwhile, reload the page.",
  ),
);

function problemOf({ problem, pages = 0 }: Extract<PDFReply, { problem: string }>): DocumentProblem {
  switch (problem) {
    case "locked":
      return new DocumentProblem(t("it is locked with a password. Save it without one, and add that."));
    case "pages":
      return new DocumentProblem(
        t("it has {n} pages, and a PDF can have {most}.", { n: pages, most: mostPages }),
      );
    case "text":
      return new DocumentProblem(tooMuchText);
    default:
      return unreadable;
  }
}
