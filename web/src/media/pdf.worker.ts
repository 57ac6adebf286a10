// SPDX-License-Identifier: MIT

// Reads a PDF beside the page, which stays quick meanwhile, and ends this worker if a file takes
// too long. Both halves of PDF.js run here, so that a hostile file reaches nothing of the page.
import { getDocument, type PDFDocumentProxy } from "pdfjs-dist/legacy/build/pdf.mjs";
import "pdfjs-dist/legacy/build/pdf.worker.mjs"; // where PDF.js finds it in this thread
import jbig2 from "pdfjs-dist/wasm/jbig2.wasm?url";
import openjpeg from "pdfjs-dist/wasm/openjpeg.wasm?url";
import { mostPixels } from "./picturesize.ts";

/** What the page asks: to open a file and read its text, then for pages as pictures. */
export type PDFAsk = { open: ArrayBuffer; mostPages: number; mostText: number } | { draw: number };

export type PDFReply =
  | { pages: number; text: string }
  | { picture: Blob }
  | { problem: "broken" | "locked" | "pages" | "text"; pages?: number };

const quality = 0.9; // of a JPEG
const perInch = 150 / 72; // pixels of a picture to a point of a page
const longestSide = 8192; // pixels
const mostImage = 1 << 24; // pixels of a picture in a page; larger ones are left out

/** The tables for texts in Chinese, Japanese and Korean whose fonts are not in the file. */
const tables = import.meta.glob<string>("../../node_modules/pdfjs-dist/cmaps/*.bcmap", {
  query: "?url",
  import: "default",
  eager: true,
});

class Tables {
  async fetch({ name }: { name: string }): Promise<{ cMapData: Uint8Array; isCompressed: boolean }> {
    const url = tables[`../../node_modules/pdfjs-dist/cmaps/${name}.bcmap`];
    const response = url === undefined ? undefined : await fetch(url);
    if (!response?.ok) throw new Error(`there is no table ${name}`); // untranslated: nobody sees it
    return { cMapData: new Uint8Array(await response.arrayBuffer()), isCompressed: true };
  }
}

/** What decodes the pictures of scanned pages, by the names of PDF.js. */
const decoders: Record<string, string> = { "jbig2.wasm": jbig2, "openjpeg.wasm": openjpeg };

class Decoders {
  async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
    const url = decoders[filename];
    const response = url === undefined ? undefined : await fetch(url);
    if (!response?.ok) throw new Error(`there is no decoder ${filename}`); // untranslated: nobody sees it
    return new Uint8Array(await response.arrayBuffer());
  }
}

interface Drawing {
  canvas: OffscreenCanvas | null;
  context: OffscreenCanvasRenderingContext2D | null;
}

/** What PDF.js draws on, where there is no document. */
class Canvases {
  create(width: number, height: number): Drawing {
    const canvas = new OffscreenCanvas(width, height);
    return { canvas, context: canvas.getContext("2d", { willReadFrequently: true }) };
  }

  reset({ canvas }: Drawing, width: number, height: number): void {
    if (canvas !== null) Object.assign(canvas, { width, height });
  }

  destroy(drawing: Drawing): void {
    this.reset(drawing, 0, 0);
    Object.assign(drawing, { canvas: null, context: null });
  }
}

/** No filters: those of PDF.js are elements of a document. */
class Filters {
  addFilter = () => "none";
  addHCMFilter = () => "none";
  addAlphaFilter = () => "none";
  addLuminosityFilter = () => "none";
  addHighlightHCMFilter = () => "none";
  destroy(): void {}
}

let file: PDFDocumentProxy | undefined;

self.addEventListener("message", async ({ data }: MessageEvent<PDFAsk>) => {
  if ("open" in data) reply(await open(data));
  if ("draw" in data) reply(await draw(data.draw).catch((): PDFReply => ({ problem: "broken" })));
});

function reply(message: PDFReply): void {
  self.postMessage(message);
}

async function open({
  open: bytes,
  mostPages,
  mostText,
}: Extract<PDFAsk, { open: unknown }>): Promise<PDFReply> {
  try {
    file = await getDocument({
      data: bytes,
      isEvalSupported: false,
      disableFontFace: true, // letters are drawn as shapes: nothing of the file becomes a font of the browser
      useSystemFonts: false,
      useWorkerFetch: false,
      isOffscreenCanvasSupported: true,
      maxImageSize: mostImage,
      verbosity: 0,
      CMapReaderFactory: Tables,
      WasmFactory: Decoders,
      CanvasFactory: Canvases,
      FilterFactory: Filters,
    }).promise;
    const pages = file.numPages;
    if (pages > mostPages) return { problem: "pages", pages };
    const text = await textOf(file, mostText);
    return text === undefined ? { problem: "text", pages } : { pages, text };
  } catch (error) {
    const locked = error instanceof Error && error.name === "PasswordException";
    return { problem: locked ? "locked" : "broken" };
  }
}

/** The text of all pages, each below its number; undefined if it is too long. */
async function textOf(file: PDFDocumentProxy, most: number): Promise<string | undefined> {
  const parts: string[] = [];
  let length = 0;
  for (let n = 1; n <= file.numPages; n++) {
    const page = await file.getPage(n);
    let text = "";
    const reader = page.streamTextContent().getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      for (const item of piece.value.items) text += `${item.str ?? ""}${item.hasEOL ? "\n" : ""}`;
      if (length + text.length > most) return undefined;
    }
    page.cleanup();
    text = text.replace(/[^\S\n]+$/gm, "").trim();
    length += text.length;
    if (text !== "") parts.push(file.numPages === 1 ? text : `[page ${n}]\n${text}`);
  }
  return parts.join("\n\n");
}

async function draw(n: number): Promise<PDFReply> {
  if (file === undefined) return { problem: "broken" };
  const page = await file.getPage(n);
  const { width, height } = page.getViewport({ scale: 1 }); // in points, whatever the file says
  const scale = Math.min(
    perInch,
    Math.sqrt(mostPixels / (width * height)),
    longestSide / Math.max(width, height),
  );
  const [across, down] = [width, height].map((side) => Math.max(1, Math.floor(side * scale)));
  const canvas = new OffscreenCanvas(across ?? 1, down ?? 1);
  const canvasContext = canvas.getContext("2d", { alpha: false });
  if (canvasContext === null) return { problem: "broken" };
  await page.render({ canvas: null, canvasContext, viewport: page.getViewport({ scale }) } as never).promise;
  page.cleanup();
  return { picture: await canvas.convertToBlob({ type: "image/jpeg", quality }) };
}
