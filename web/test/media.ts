// SPDX-License-Identifier: MIT

// Pictures and sounds for tests.
import { deflateSync } from "node:zlib";
import type { Page } from "playwright-core";

export type Colour = readonly [red: number, green: number, blue: number];

/** A PNG of one colour, or of noise where there is none: that is as large as a photograph. */
export function png(width: number, height: number, colour?: Colour): Buffer {
  const line = 1 + 3 * width;
  const pixels: Buffer = Buffer.alloc(line * height);
  for (let y = 0, noise = 1; y < height; y++)
    for (let x = 0; x < 3 * width; x++) {
      noise = (Math.imul(noise, 1_103_515_245) + 12_345) & 0x7fffffff;
      pixels[y * line + 1 + x] = colour?.[x % 3] ?? noise >> 16;
    }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8); // bits, colours
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(pixels, { level: 1 })),
    chunk("IEND"),
  ]);
}

function chunk(name: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * A JPEG of the browser: its upper half is red, the lower blue. EXIF says that it is to be turned
 * by a quarter to the right.
 */
export async function turnedJPEG(page: Page, width: number, height: number): Promise<Buffer> {
  const bytes = await page.evaluate(
    async ([w, h]) => {
      const canvas = new OffscreenCanvas(w, h);
      const context = canvas.getContext("2d");
      if (context === null) throw new Error("no canvas");
      context.fillStyle = "#f00";
      context.fillRect(0, 0, w, h / 2);
      context.fillStyle = "#00f";
      context.fillRect(0, h / 2, w, h / 2);
      return [...new Uint8Array(await (await canvas.convertToBlob({ type: "image/jpeg" })).arrayBuffer())];
    },
    [width, height] as const,
  );
  const exif = Buffer.from("45786966000049492a00080000000100120103000100000006000000000000", "hex");
  const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0, exif.length + 2]), exif]);
  return Buffer.concat([Buffer.from(bytes.slice(0, 2)), segment, Buffer.from(bytes.slice(2))]);
}

/** A WAV with a tone of some seconds. */
export function wav(seconds: number, rate = 16_000, channels = 1): Buffer {
  const samples = Math.round(seconds * rate);
  const file = Buffer.alloc(44 + 2 * samples * channels);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(channels, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(2 * rate * channels, 28);
  file.writeUInt16LE(2 * channels, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(2 * samples * channels, 40);
  for (let at = 0; at < samples * channels; at++)
    file.writeInt16LE(
      Math.round(8000 * Math.sin((2 * Math.PI * 440 * Math.floor(at / channels)) / rate)),
      44 + 2 * at,
    );
  return file;
}

export interface Picked {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

export const picture = (name: string, colour: Colour, size = 64): Picked => ({
  name,
  mimeType: "image/png",
  buffer: png(size, size, colour),
});

/** Chooses files by the menu of the composer. */
export async function choose(page: Page, item: string, files: Picked[]): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Add files" }).click();
  await page.getByRole("menuitem", { name: item }).click();
  await (await chooser).setFiles(files);
}

/** Drops files on the page, or pastes them into the field, as event says. */
export async function give(page: Page, event: "drop" | "paste", files: Picked[]): Promise<void> {
  const data = await page.evaluateHandle(
    (list) => {
      const transfer = new DataTransfer();
      for (const { name, type, base64 } of list) {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        transfer.items.add(new File([bytes], name, { type }));
      }
      return transfer;
    },
    files.map(({ name, mimeType, buffer }) => ({ name, type: mimeType, base64: buffer.toString("base64") })),
  );
  if (event === "drop") {
    await page.locator("body").dispatchEvent("dragover", { dataTransfer: data });
    await page.getByText("Drop files to add them to your message").waitFor();
    await page.locator("body").dispatchEvent("drop", { dataTransfer: data });
  } else {
    await page.getByRole("textbox", { name: "Your message" }).evaluate((field, clipboardData) => {
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, data);
  }
}
