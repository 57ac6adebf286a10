// SPDX-License-Identifier: MIT
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../../build/plugins", import.meta.url));

/** The file of an example plugin, as `make plugins` builds it. */
export function examplePlugin(name: string): string {
  const file = join(built, `${name}.wasm`);
  if (!existsSync(file)) throw new Error(`there is no ${file}: run \`make plugins\` first`);
  return file;
}

/** A plugin folder of one's own with these examples in it. */
export function examplePlugins(...names: string[]): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "penstock-plugins-"));
  for (const name of names) copyFileSync(examplePlugin(name), join(folder, `${name}.wasm`));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
