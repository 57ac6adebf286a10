// SPDX-License-Identifier: MIT

// The page's tests run in three processes, of about one length, whose files share a browser and
// servers. That is one more than many machines have processors: a page often waits.
import { testFiles } from "../together.ts";

export const folder = new URL("../", import.meta.url);

const named = (names: string) => names.split(" ").map((name) => `${name}.test.ts`);

/** Files that need no answers of a model, or few: mostly the test answers in the host's place. */
export const played = [
  ...named("accessible asking budget chatlist chatsettings covering docs errors exports firstrun form"),
  ...named("keyboard language layout loading looks reading stored surprise tools typing view"),
];

/** Files about what people bring: plugins, scripts, programs, pictures, sounds and documents. */
export const brought = [
  ...named("chain documents pictures plugins program script scripthost seeing sight sounds"),
  ...named("steering strategies"),
];

/** All others. */
export const hosted = testFiles(folder).filter((file) => !played.includes(file) && !brought.includes(file));
