// SPDX-License-Identifier: MIT

// All tests of this folder.
import { testFiles, together } from "../../../web/test/together.ts";

const folder = new URL("./", import.meta.url);
together(folder, testFiles(folder));
