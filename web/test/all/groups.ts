// SPDX-License-Identifier: MIT

// The page's tests run in two processes, whose files share a browser and servers.
import { testFiles } from "../together.ts";

export const folder = new URL("../", import.meta.url);

/** Files that need no answers of a model, or few: mostly the test answers in the host's place. */
export const played = [
  "accessible",
  "asking",
  "budget",
  "chatlist",
  "chatsettings",
  "covering",
  "docs",
  "documents",
  "errors",
  "exports",
  "form",
  "language",
  "layout",
  "loading",
  "looks",
  "pictures",
  "plugins",
  "reading",
  "script",
  "sight",
  "sounds",
  "stored",
  "surprise",
  "tools",
  "typing",
  "view",
].map((name) => `${name}.test.ts`);

/** All others. */
export const hosted = testFiles(folder).filter((file) => !played.includes(file));
