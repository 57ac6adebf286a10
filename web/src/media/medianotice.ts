// SPDX-License-Identifier: MIT

// What a person should know of the pictures and sounds before a question is sent.
import type { Medium } from "../chats/message.ts";
import { t } from "../language/language.ts";
import {
  type Abilities,
  eachOnce,
  isPicture,
  mostFileBytes,
  mostFiles,
  takesMedium,
  totalSize,
} from "./medialimits.ts";

/** What a person should know before a question is sent. */
export interface MediaNotice {
  text: string;
  blocks: boolean; // it cannot be sent so
}

/**
 * What a model cannot do with files, in words: "cannot see pictures". Empty: it takes all of them.
 */
export function cannot(abilities: Abilities, media: readonly Pick<Medium, "type">[]): string {
  const lost = media.filter((medium) => !takesMedium(abilities, medium));
  if (lost.length === 0) return "";
  if (lost.every(isPicture)) return t("cannot see pictures");
  return lost.some(isPicture) ? t("cannot see pictures and hear sounds") : t("cannot hear sounds");
}

/** Of a draft with these files in a chat that has others before it. */
export function noticeOf(
  model: string,
  abilities: Abilities,
  draft: readonly Medium[],
  before: readonly Medium[],
  most = mostFileBytes(),
): MediaNotice | undefined {
  const now = cannot(abilities, draft);
  if (now !== "")
    return {
      blocks: true,
      text: t("{model} {cannot}. Remove what it cannot take, or choose another model in Settings.", {
        model,
        cannot: now,
      }),
    };
  const sent = eachOnce([...before, ...draft]).filter((medium) => takesMedium(abilities, medium));
  if (totalSize(sent) > most || sent.length > mostFiles)
    return {
      blocks: true,
      text: t("This chat has more pictures and sounds than the server takes. Begin a new chat."),
    };
  const earlier = cannot(abilities, before);
  if (earlier === "") return undefined;
  return {
    blocks: false,
    text: t("{model} {cannot}: of those in this chat it is told the names only.", { model, cannot: earlier }),
  };
}
