// SPDX-License-Identifier: MIT
import type { Page } from "playwright-core";

/**
 * A picture as WebP, which is several times smaller than PNG. Chromium has an encoder. The page
 * must be one whose policy allows images from data:, such as about:blank.
 */
export async function webp(page: Page, png: Buffer, scale = 1): Promise<Buffer> {
  const url = await page.evaluate(
    async ([base64, scale]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${base64}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(image.width * scale);
      canvas.height = Math.round(image.height * scale);
      const context = canvas.getContext("2d");
      if (context === null) throw new Error("there is no canvas");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return canvas.toDataURL("image/webp", 0.8);
    },
    [png.toString("base64"), scale] as const,
  );
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

const block = 8; // pixels of the stored picture, in both directions

/**
 * How many blocks of two pictures differ by more than most on average, of 255; all of them where
 * one is larger.
 */
export async function differingBlocks(
  page: Page,
  one: Buffer,
  other: Buffer,
  most: number,
): Promise<{ differ: number; of: number }> {
  return page.evaluate(
    async ([urls, block, most]) => {
      const [a, b] = await Promise.all(
        urls.map(async (url) => {
          const image = new Image();
          image.src = `data:image/webp;base64,${url}`;
          await image.decode();
          const canvas = document.createElement("canvas");
          canvas.width = image.width;
          canvas.height = image.height;
          const context = canvas.getContext("2d");
          if (context === null) throw new Error("there is no canvas");
          context.drawImage(image, 0, 0);
          return context.getImageData(0, 0, image.width, image.height);
        }),
      );
      if (a === undefined || b === undefined) throw new Error("two pictures are compared");
      const [wide, high] = [Math.ceil(a.width / block), Math.ceil(a.height / block)];
      if (a.width !== b.width || a.height !== b.height) return { differ: wide * high, of: wide * high };
      const sums = new Float64Array(wide * high);
      for (let at = 0; at < a.data.length; at++) {
        const pixel = at >> 2;
        const [x, y] = [pixel % a.width, Math.floor(pixel / a.width)];
        const place = Math.floor(y / block) * wide + Math.floor(x / block);
        sums[place] = (sums[place] ?? 0) + Math.abs((a.data[at] ?? 0) - (b.data[at] ?? 0));
      }
      const limit = most * block * block * 3; // alpha never differs
      return { differ: sums.filter((sum) => sum > limit).length, of: sums.length };
    },
    [[one.toString("base64"), other.toString("base64")], block, most] as const,
  );
}
