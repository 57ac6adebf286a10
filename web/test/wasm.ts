// SPDX-License-Identifier: MIT
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const built = fileURLToPath(new URL("../../build/plugins", import.meta.url));

/** The file of an example plugin, as `make plugins` builds it. */
export function examplePlugin(name: string): string {
  const file = join(built, `${name}.wasm`);
  if (!existsSync(file)) throw new Error(`there is no ${file}: run \`make plugins\` first`);
  return file;
}
