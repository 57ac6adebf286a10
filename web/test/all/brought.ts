// SPDX-License-Identifier: MIT
import { together } from "../together.ts";
import { brought, folder } from "./groups.ts";

together(folder, brought);
