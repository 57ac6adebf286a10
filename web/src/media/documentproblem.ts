// SPDX-License-Identifier: MIT

// Says why a document cannot be read.

import { t } from "../language/language.ts";

/** Why a document cannot be read, in words that follow its name. */
export class DocumentProblem extends Error {}

export const tooMuchText = t("it has more text than the files of a message can have together.");
