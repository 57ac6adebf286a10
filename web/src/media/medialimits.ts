// SPDX-License-Identifier: MIT

// How many files a request may have, how large they may be, and what a model takes.
import type { Medium } from "../chats/message.ts";

/**
 * Bytes of the files that a connection keeps, for a host that says how large a body can be, or its
 * default: less what frames have besides files.
 */
export function mostFileBytes(bodyLimit = 16 << 20): number {
  return bodyLimit - 4096;
}

/** Files that a request can have, and a connection keeps. */
export const mostFiles = 128;

/** Files once each, whatever their number of messages: a connection keeps them once. */
export function eachOnce(media: readonly Medium[]): Medium[] {
  return [...new Map(media.map((medium) => [medium.file, medium])).values()];
}

/** Bytes of files together. */
export function totalSize(media: readonly Medium[]): number {
  return eachOnce(media).reduce((sum, { size }) => sum + size, 0);
}

/** What a model takes besides text. */
export interface Abilities {
  sees: boolean;
  hears: boolean;
}

/** Those of a model of which nothing is known: the host refuses what it cannot take. */
export const allAbilities: Abilities = { sees: true, hears: true };

export const isPicture = ({ type }: Pick<Medium, "type">) => type.startsWith("image/");

/** Whether a model takes a file. */
export function takesMedium({ sees, hears }: Abilities, medium: Pick<Medium, "type">): boolean {
  return isPicture(medium) ? sees : hears;
}
