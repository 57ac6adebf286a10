// SPDX-License-Identifier: MIT

// The branches of a program's answer in the chat, while nothing else is to be seen of it.
import { t } from "../../language/language.ts";
import "../../style/tree.css";
import { useReader } from "./answerreader.ts";
import { BranchRows } from "./programtree.tsx";

/** The branches of an answer as they grow. */
export default function GrowingTree({ id }: { id: string }) {
  const reader = useReader(id);
  return <BranchRows changes={reader.changes.value} label={t("Branches so far")} />;
}
