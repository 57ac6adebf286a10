// SPDX-License-Identifier: MIT
import { z } from "zod";

// What the suites ask for. The built-in model knows neither tools nor JSON, so a grammar forces it
// to answer with them. All its values are from short lists, or it might fill a text until its
// tokens are used up.

export const toolName = "get_weather";
export const toolDescription = "The weather in a city";

export const Place = z.object({
  city: z.enum(["Paris", "Oslo"]),
  days: z.enum(["one", "two"]),
});

export type Place = z.infer<typeof Place>;

/** The JSON schema of Place. */
export const placeSchema = {
  type: "object" as const,
  properties: {
    city: { type: "string" as const, enum: ["Paris", "Oslo"] },
    days: { type: "string" as const, enum: ["one", "two"] },
  },
  required: ["city", "days"],
  additionalProperties: false,
};

export const weather = "Sunny, 20 degrees";

/** A grammar of what a custom tool is given. */
export const walkGrammar = `start: "go " ("left" | "right") "\\n<b>\\"é\\"</b>\\n"`;

/** The texts of walkGrammar. */
export const walks = /^go (left|right)\n<b>"é"<\/b>\n$/;
