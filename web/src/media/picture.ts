// SPDX-License-Identifier: MIT

// Reads a picture, and makes it small enough to be sent.
import { isAnimatedWebP, type MediaType } from "./mediatype.ts";
import { fittedSize, mostKept, mostLossless } from "./picturesize.ts";

/** A picture as it is sent, with its size as it is shown. */
export interface Picture {
  bytes: Blob;
  type: MediaType;
  width: number;
  height: number;
}

const quality = 0.9; // of a JPEG

/**
 * Makes a picture small enough to be sent: one that is small is kept as it is, and another is
 * drawn anew, upright as its EXIF data say. type is what the host reads of it; undefined: only the
 * browser can. Rejects where the browser cannot read it.
 */
export async function readPicture(
  file: Blob,
  type: MediaType | undefined,
  head: Uint8Array,
): Promise<Picture> {
  const bitmap = await createImageBitmap(file);
  try {
    const { width, height } = bitmap;
    const size = fittedSize(width, height);
    const small = size.width === width && size.height === height && file.size <= mostKept;
    if (small && type !== undefined && !isAnimatedWebP(head))
      return { bytes: new Blob([file], { type }), type, width, height };
    return { ...(await drawn(bitmap, size, type)), ...size };
  } finally {
    bitmap.close();
  }
}

/** Draws a bitmap in a size. What may have sharp edges stays without loss where that is small. */
async function drawn(
  bitmap: ImageBitmap,
  { width, height }: { width: number; height: number },
  type: MediaType | undefined,
): Promise<Pick<Picture, "bytes" | "type">> {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("the browser draws nothing"); // untranslated: nobody sees it
  context.fillStyle = "#fff"; // shows through where the picture is transparent, as the host has it
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  if (type !== "image/jpeg") {
    const bytes = await encoded(canvas, "image/png");
    if (bytes.size <= mostLossless) return { bytes, type: "image/png" };
  }
  return { bytes: await encoded(canvas, "image/jpeg"), type: "image/jpeg" };
}

function encoded(canvas: HTMLCanvasElement, type: MediaType): Promise<Blob> {
  return new Promise((resolve, reject) => {
    const done = (bytes: Blob | null) =>
      // untranslated: nobody sees it
      bytes === null ? reject(new Error("the browser cannot encode it")) : resolve(bytes);
    canvas.toBlob(done, type, quality);
  });
}
