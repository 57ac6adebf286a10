// SPDX-License-Identifier: MIT
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const builtIn = `${root}host/model/penstock-tiny.gguf`;
const key = "llama.context_length";
const uint32 = 4; // GGUF's number for the type of the value

/**
 * Writes a copy of the built-in model that claims a context of so many tokens. The host ends an
 * answer where the context ends, which for the small model is within a second: too soon to press
 * Stop in its middle.
 */
export function writeModel(path: string, context: number): void {
  const file = readFileSync(builtIn);
  // A key is followed by its value's type and the value, all little-endian.
  const type = file.indexOf(key) + key.length;
  if (type < key.length || file.readUInt32LE(type) !== uint32) throw new Error(`no ${key} in ${builtIn}`);
  file.writeUInt32LE(context, type + 4);
  writeFileSync(path, file);
}

/** Writes a model that sees and hears and its projector, both random, and returns their paths. */
export function writePerceiving(folder: string): string[] {
  const command = ["run", "./tools/synthgguf", "-media", "mlp+ultravox", "-o", folder];
  return execFileSync("go", command, { cwd: root, encoding: "utf8" }).trim().split("\n");
}
