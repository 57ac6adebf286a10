// SPDX-License-Identifier: MIT

// PDFs for tests, written by hand.

/** A page: what is drawn on it, and its size in points. */
export interface PDFPage {
  draws: string; // operators; fonts: /F1 is Helvetica, /F2 a Chinese one that is not in the file
  size?: [width: number, height: number];
  image?: { dictionary: string; data: Buffer }; // /Im0
}

/** Operators that write lines of Latin letters. */
export const lines = (...texts: string[]) =>
  `BT /F1 24 Tf 28 TL 72 700 Td ${texts.map((text) => `(${text}) Tj T*`).join(" ")} ET`;

/** Operators that write signs of the Chinese font. */
export const chinese = (text: string) =>
  `BT /F2 24 Tf 72 600 Td <${Buffer.from(text, "utf16le").swap16().toString("hex")}> Tj ET`;

export const redSquare = "1 0 0 rg 100 100 400 400 re f";

/** A PDF of pages. trailer is what its trailer has besides. */
export function pdf(pages: readonly PDFPage[], trailer = ""): Buffer {
  const objects: Buffer[] = [];
  const add = (text: string, stream?: Buffer) => {
    const body = stream === undefined ? [text] : [text, "\nstream\n", stream, "\nendstream"];
    objects.push(Buffer.concat(body.map((part) => Buffer.from(part as string, "latin1"))));
    return objects.length;
  };
  add("<< /Type /Catalog /Pages 2 0 R >>");
  add(""); // the pages, known below
  const font = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  const cid =
    "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light " +
    "/CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor 4 0 R >>";
  add(
    "<< /Type /FontDescriptor /FontName /STSong-Light /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /StemV 80 >>",
  );
  const signs = add(
    `<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [${add(cid)} 0 R] >>`,
  );
  const kids = pages.map(({ draws, size: [width, height] = [595, 842], image }) => {
    const content = add(`<< /Length ${draws.length} >>`, Buffer.from(draws, "latin1"));
    const drawn =
      image &&
      add(
        `<< /Type /XObject /Subtype /Image /Length ${image.data.length} ${image.dictionary} >>`,
        image.data,
      );
    const images = drawn === undefined ? "" : `/XObject << /Im0 ${drawn} 0 R >>`;
    return add(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents ${content} 0 R ` +
        `/Resources << /Font << /F1 ${font} 0 R /F2 ${signs} 0 R >> ${images} >> >>`,
    );
  });
  objects[1] = Buffer.from(
    `<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((kid) => `${kid} 0 R`).join(" ")}] >>`,
  );
  return assembled(objects, trailer);
}

function assembled(objects: readonly Buffer[], trailer: string): Buffer {
  const parts = [Buffer.from("%PDF-1.7\n")];
  const starts: number[] = [];
  let at = parts[0]?.length ?? 0;
  for (const [i, object] of objects.entries()) {
    const part = Buffer.concat([Buffer.from(`${i + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]);
    starts.push(at);
    at += part.length;
    parts.push(part);
  }
  const rows = starts.map((start) => `${String(start).padStart(10, "0")} 00000 n \n`).join("");
  parts.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}` +
        `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`,
      "latin1",
    ),
  );
  return Buffer.concat(parts);
}

/** A scanned page, as scanners pack them: a JBIG2 picture of some pattern. */
export function scanned(): PDFPage {
  const side = 64;
  const data = Buffer.from("5a3c".repeat(64), "hex");
  const region = Buffer.concat([
    words(side, side, 0, 0),
    Buffer.from([0]), // placed over what is there
    Buffer.from([0]), // arithmetic coding with template 0
    Buffer.from([3, -1, -3, -1, 2, -2, -2, -2]), // its adaptive pixels
    data,
  ]);
  const page = Buffer.concat([words(side, side, 0, 0), Buffer.from([0, 0, 0])]);
  const segment = (n: number, type: number, body: Buffer) =>
    Buffer.concat([words(n), Buffer.from([type, 0, 1]), words(body.length), body]);
  return {
    draws: "q 400 0 0 400 100 200 cm /Im0 Do Q",
    image: {
      dictionary: `/Width ${side} /Height ${side} /BitsPerComponent 1 /ColorSpace /DeviceGray /Filter /JBIG2Decode`,
      data: Buffer.concat([segment(0, 48, page), segment(1, 38, region)]),
    },
  };
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => {
    bytes.writeUInt32BE(value, 4 * i);
  });
  return bytes;
}
