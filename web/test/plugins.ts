// SPDX-License-Identifier: MIT

// What tests do with the plugins view.
import type { Locator, Page } from "playwright-core";

export function card(page: Page, name: string): Locator {
  return page.getByRole("article", { name });
}

/** Unfolds a plugin's card. */
export async function unfold(page: Page, name: string): Promise<Locator> {
  const plugin = card(page, name);
  await plugin.getByRole("button", { name: "Configure and try" }).click();
  return plugin;
}

/** Drops files on the page, as from a file manager. */
export async function drop(page: Page, files: { name: string; bytes: Buffer | number }[]): Promise<void> {
  const data = await page.evaluateHandle(
    (list) => {
      const transfer = new DataTransfer();
      for (const { name, bytes } of list) {
        const content = typeof bytes === "number" ? new Uint8Array(bytes) : Uint8Array.from(bytes);
        transfer.items.add(new File([content], name, { type: "application/wasm" }));
      }
      return transfer;
    },
    files.map(({ name, bytes }) => ({ name, bytes: typeof bytes === "number" ? bytes : [...bytes] })),
  );
  const target = page.getByRole("main");
  await target.dispatchEvent("dragover", { dataTransfer: data });
  await page.getByText("Drop the .wasm files here").waitFor();
  await target.dispatchEvent("drop", { dataTransfer: data });
}

export async function giveKey(page: Page, key: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Admin key" });
  await dialog.getByRole("textbox", { name: "Admin key" }).fill(key);
  await dialog.getByRole("button", { name: "Continue" }).click();
}
