// SPDX-License-Identifier: MIT

// Two answers side by side.
import { useLayoutEffect, useMemo } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import type { Message } from "../../chats/message.ts";
import { t } from "../../language/language.ts";
import { count, rate } from "../../text/numberformat.ts";
import { firstDifference } from "../../trace/firstdifference.ts";
import { statisticsOf } from "../../trace/statistics.ts";
import type { Palette } from "../../trace/tokencolours.ts";
import type { Piece } from "../../trace/tokenitems.ts";
import { visibleToken } from "../../trace/tokenwords.ts";
import { type AnswerReader, useReader } from "./answerreader.ts";
import { statisticEntries } from "./statisticspanel.tsx";
import { TokenDetail } from "./tokendetail.tsx";
import { TokenList } from "./tokenlist.tsx";

interface Props {
  chat: Chat;
  a: AnswerReader;
  other: string;
  palette: Palette;
}

/** Two answers side by side, in step, from where they part. */
export function Comparison({ chat, a, other, palette }: Props) {
  const b = useReader(other);
  const [mine, its] = [a.pieces.value, b.pieces.value];
  const parted = useMemo(() => firstDifference(mine, its), [mine, its]);
  // One that is being written may end at that place for now: its token comes into focus when it is
  // there.
  const both = parted !== undefined && parted < Math.min(mine.length, its.length);
  useLayoutEffect(() => {
    // before it is painted: what is said and what is in focus come together
    if (parted === undefined) return;
    a.focusPlace(parted);
    b.focusPlace(parted);
  }, [a, b, parted, both]);
  const siblings = chat.tree.siblings(a.id);
  const version = (id: string) => String(siblings.indexOf(id) + 1);
  const sides: [string, AnswerReader, AnswerReader][] = [
    [version(a.id), a, b],
    [version(other), b, a],
  ];
  if (b.state.value === "none")
    return <p class="hint">{t("That answer has no token record, so there is nothing to compare.")}</p>;
  return (
    <>
      <p class="verdict" role="status">
        {verdict(mine, its, parted)}
      </p>
      <div class="sides">
        {sides.map(([name, reader, twin]) => (
          <div key={name} class="side">
            <h3>{t("Version {n}", { n: name })}</h3>
            <TokenList
              reader={reader}
              palette={palette}
              label={t("Tokens of version {n}", { n: name })}
              parted={parted ?? mine.length}
              moved={() => twin.focusPlace(reader.item.peek()?.place ?? 0)}
            />
            <TokenDetail reader={reader} label={t("The token in focus of version {n}", { n: name })} />
          </div>
        ))}
      </div>
      <FactsBeside
        names={sides.map(([name]) => t("Version {n}", { n: name }))}
        chat={chat}
        readers={[a, b]}
      />
    </>
  );
}

function verdict(a: readonly Piece[], b: readonly Piece[], parted: number | undefined): string {
  if (parted === undefined) return t("All {n} tokens are the same.", { n: count(a.length) });
  const [one, other] = [a[parted], b[parted]];
  const name = (piece: Piece | undefined) =>
    piece === undefined ? t("the end") : visibleToken(piece.trace?.token ?? piece.text);
  return t("They part at token {n}: {one} on one side, {other} on the other.", {
    n: count(parted + 1),
    one: name(one),
    other: name(other),
  });
}

function FactsBeside({ names, chat, readers }: { names: string[]; chat: Chat; readers: AnswerReader[] }) {
  const columns = readers.map((reader) => [
    ...speedOf(chat.tree.node(reader.id).value),
    ...statisticEntries(statisticsOf(reader.pieces.value)),
  ]);
  return (
    <table class="compared">
      <caption>{t("Side by side")}</caption>
      <thead>
        <tr>
          <td />
          {names.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {columns[0]?.map(([name], i) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {columns.map((column, side) => (
              <td key={names[side]}>{column[i]?.[1]}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function speedOf({ answer }: Message): [name: string, value: string][] {
  const speed = answer?.outcome?.timings?.predicted_per_second ?? 0;
  return [
    [t("Speed"), speed > 0 ? t("{rate} tokens/s", { rate: rate(speed) }) : t("unknown")],
    [t("Seed"), answer?.seed === undefined ? t("unknown") : String(answer.seed)],
  ];
}
