// SPDX-License-Identifier: MIT

// The way from a slot or a queue entry to its chat, if this page asked for the answer.
import type { RunningAnswer } from "../../chats/runninganswer.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";

/**
 * The running answer that the host knows by this name; undefined where it is none of this tab's.
 */
export function runNamed(
  runs: ReadonlyMap<string, RunningAnswer>,
  name: string | undefined,
): RunningAnswer | undefined {
  if (name === undefined) return undefined;
  return [...runs.values()].find((run) => run.name === name);
}

/** The title of an answer's chat, which leads there. */
export function ChatLink({ run }: { run: RunningAnswer | undefined }) {
  const { chats } = useApp();
  if (run === undefined) return <span>{t("Another answer of this page")}</span>;
  if (run.chat === "") return <a href="#/plugins">{t("A plugin being tried")}</a>;
  const title = chats.list.value.find((chat) => chat.id === run.chat)?.title;
  return <a href={`#/chat/${run.chat}`}>{title || t("Untitled chat")}</a>;
}
