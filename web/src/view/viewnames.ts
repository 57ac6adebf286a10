// SPDX-License-Identifier: MIT

// What the views besides the chat are called.
import type { View } from "../app.ts";
import { t } from "../language/language.ts";

export const viewNames: Readonly<Record<Exclude<View, "chat">, string>> = {
  models: t("Models"),
  plugins: t("Plugins"),
  live: t("Live"),
};
