// SPDX-License-Identifier: MIT
import { together } from "../together.ts";
import { folder, played } from "./groups.ts";

together(folder, played);
