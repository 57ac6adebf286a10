// SPDX-License-Identifier: MIT

// The tests beside the page's code, which need no browser.
import { testFiles, together } from "../together.ts";

const folder = new URL("../../src/", import.meta.url);
together(folder, testFiles(folder, true));
