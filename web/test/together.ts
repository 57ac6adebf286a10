// SPDX-License-Identifier: MIT
import { readdirSync } from "node:fs";
import { after, describe, test } from "node:test";

/**
 * Runs test files one after the other in this process: in one of its own each would load the same
 * modules again, and could share nothing. A file that cannot be loaded is a test that fails.
 */
export function together(folder: URL, files: readonly string[]): void {
  // A test that failed may have left a server open, which would keep the process for good.
  after(() => {
    setTimeout(() => process.exit(), 10_000).unref();
  });
  const loading: Promise<unknown>[] = [];
  for (const file of files)
    describe(file, async () => {
      loading.push(
        import(new URL(file, folder).href).catch((error) =>
          test(`${file} can be loaded`, () => {
            throw error;
          }),
        ),
      );
      await loading.at(-1);
      await Promise.all(loading); // who shares what is known before the first test
    });
}

/** The test files in a folder and, if recursive, in those in it. */
export function testFiles(folder: URL, recursive = false): string[] {
  const names = readdirSync(folder, { recursive }).map(String);
  return names.filter((name) => name.endsWith(".test.ts")).sort();
}
