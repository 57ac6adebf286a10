// SPDX-License-Identifier: MIT

// The inspector: how each token of an answer was chosen.
import { t, tx } from "../../language/language.ts";
import "../../style/inspector.css";
import "../../style/tokens.css";
import "../../style/candidates.css";
import "../../style/tree.css";
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import { type ColourMode, Palette } from "../../trace/tokencolours.ts";
import { useApp } from "../appcontext.ts";
import { useReader } from "./answerreader.ts";
import { ComparePanel } from "./comparepanel.tsx";
import { Headline } from "./headline.tsx";
import { ColourModes, Legend } from "./legend.tsx";
import { useTokenMark } from "./marktoken.ts";
import { ProgramTree } from "./programtree.tsx";
import { StatisticsPanel } from "./statisticspanel.tsx";
import { TokenDetail } from "./tokendetail.tsx";
import { TokenList } from "./tokenlist.tsx";
import { Untraced } from "./untraced.tsx";

/** How each token of an answer was chosen. */
export default function InspectorView() {
  const { drawer, chats } = useApp();
  const shown = drawer.value;
  const chat = chats.current.value;
  if (shown?.kind !== "inspector") return null;
  if (!chat.tree.has(shown.message))
    return (
      <p class="hint">
        {tx("Press {inspect} below an answer to see how each of its tokens was chosen.", {
          inspect: <strong>{t("Inspect")}</strong>,
        })}
      </p>
    );
  return <Answer key={shown.message} chat={chat} id={shown.message} first={shown.token} />;
}

interface Props {
  chat: Chat;
  id: string;
  first: number; // the place of the token to begin with
}

function Answer({ chat, id, first }: Props) {
  const running = useApp().answers.running.value.has(id);
  const reader = useReader(id, first);
  const mode = useSignal<ColourMode | undefined>(undefined);
  const other = useSignal<string | undefined>(undefined);
  const compared = chat.tree.siblings(id).find((sibling) => sibling === other.value); // one may be deleted
  const items = reader.items.value;
  const chosen = mode.value ?? (reader.touched.value.length > 0 ? "plugin" : "probability");
  const palette = useMemo(() => new Palette(chosen), [chosen]);
  useTokenMark(id, reader);
  if (reader.changes.value.length > 0)
    return <ProgramTree changes={reader.changes.value} running={running} />;
  if (reader.state.value === "loading") return <p role="status">{t("Looking for the token record…")}</p>;
  if (reader.state.value === "none") return <Untraced chat={chat} id={id} />;
  const pick = (next: ColourMode) => {
    mode.value = next;
  };
  return (
    <div class={compared === undefined ? "inspector" : "inspector comparing"}>
      <Headline reader={reader} />
      <div class="colours">
        <ColourModes mode={chosen} pick={pick} />
        <Legend palette={palette} items={items} />
      </div>
      {compared === undefined && (
        <>
          <TokenList reader={reader} palette={palette} label={t("Tokens of the answer")} />
          <TokenDetail reader={reader} />
          <StatisticsPanel pieces={reader.pieces.value} />
        </>
      )}
      <ComparePanel chat={chat} id={id} reader={reader} palette={palette} compared={compared} other={other} />
    </div>
  );
}
