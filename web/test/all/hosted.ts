// SPDX-License-Identifier: MIT
import { together } from "../together.ts";
import { folder, hosted } from "./groups.ts";

together(folder, hosted);
