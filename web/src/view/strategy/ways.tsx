// SPDX-License-Identifier: MIT

// What stands above the message field: how the next answer is written, and by which rules.
import { useComputed } from "@preact/signals";
import type { Chat } from "../../chats/chat.ts";
import { t, tn } from "../../language/language.ts";
import { namedScripts } from "../../scripts/namedscripts.ts";
import { strategiesAtHand, strategyWords, withAtHand, writes } from "../../settings/strategies.ts";
import { useApp } from "../appcontext.ts";
import { ChangedSettings } from "../chat/changedsettings.tsx";
import { Icon } from "../icon.tsx";
import { Panel } from "../panel.tsx";
import { changeStrategy } from "./changestrategy.ts";

const strategies = () => import("./strategypanel.tsx");
const rules = () => import("./rulespanel.tsx");

/** How the next answer of a chat is written, by which rules, and what else of it is set. */
export function Ways({ chat }: { chat: Chat }) {
  const held = useComputed(() => (chat.settings.value.rules ?? []).filter(({ on }) => on).length).value;
  return (
    <div class="ways">
      <Strategies chat={chat} />
      <Panel label={t("Rules")} title={t("What answers have to obey")} load={rules}>
        <Icon name="check" />
        <span>{held === 0 ? t("Rules") : tn(held, "{n} rule", "{n} rules")}</span>
      </Panel>
      <ChangedSettings chat={chat} />
    </div>
  );
}

/** A button for each strategy that is at hand, and one that opens all of them with their forms. */
function Strategies({ chat }: { chat: Chat }) {
  const app = useApp();
  const { plugins } = app;
  const settings = chat.settings.value;
  const atHand = strategiesAtHand(settings, plugins.value, namedScripts.list.value);
  const buttons = atHand.length > 1 ? atHand : []; // one alone is no choice
  const pressed = buttons.find((strategy) => writes(strategy, settings, plugins.value));
  return (
    <fieldset class="strategies-at-hand">
      <legend class="hidden">{t("How the next answer is written")}</legend>
      {buttons.map((strategy) => (
        <button
          key={`${strategy.program} ${strategy.title}`}
          type="button"
          class="differs"
          aria-pressed={strategy === pressed}
          onClick={() => {
            changeStrategy(app, chat, (before) => withAtHand(before, strategy, plugins.peek()));
          }}
        >
          {strategy.title}
        </button>
      ))}
      <Panel label={t("Strategy")} title={t("How the next answer is written")} load={strategies}>
        <Icon name="fork" />
        {pressed === undefined ? (
          <>
            <span class="hidden">{t("Strategy:")} </span>
            <span>{strategyWords(settings, plugins.value)}</span>
          </>
        ) : (
          <>
            <span class="hidden">{t("More strategies")}</span>
            <span aria-hidden="true">{t("More")}</span>
          </>
        )}
      </Panel>
    </fieldset>
  );
}
