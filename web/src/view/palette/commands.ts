// SPDX-License-Identifier: MIT

// What the palette can do besides finding chats.
import type { App, View } from "../../app.ts";
import { t } from "../../language/language.ts";
import { namedScripts } from "../../scripts/namedscripts.ts";
import { type Theme, themes } from "../../settings/preferences.ts";
import { readyStrategies, withAtHand, writes } from "../../settings/strategies.ts";
import { type Choice, type ChoiceGroup, fits } from "../finder/finder.tsx";
import { modelChoices } from "../models/modelbutton.tsx";
import { shortcutsOf } from "../shortcuts/shortcutlist.ts";
import { helpShown } from "../shortcuts/shown.ts";
import { changeStrategy } from "../strategy/changestrategy.ts";
import { viewNames } from "../viewnames.ts";

const themeNames: Readonly<Record<Theme, string>> = {
  system: t("Theme: system"),
  light: t("Theme: light"),
  dark: t("Theme: dark"),
};

/** The commands that have the words of a query, in groups. */
export function commandsOf(app: App, query: string): ChoiceGroup[] {
  const groups: ChoiceGroup[] = [
    { name: t("Commands"), choices: pageCommands(app) },
    { name: t("Models"), choices: models(app) },
    { name: t("Strategies"), choices: strategies(app) },
  ];
  return groups.map(({ name, choices }) => ({
    name,
    choices: choices.filter(({ title }) => fits(`${name} ${title}`, query.trim())),
  }));
}

function pageCommands(app: App): Choice[] {
  const help = () => {
    helpShown.value = true;
  };
  const single = shortcutsOf(app, { help, palette() {} }).filter(({ ctrl }) => !ctrl); // the others repeat them
  const pressed = single.map(({ name, run }) => ({ key: name, title: name, run }));
  const shown = Object.entries(viewNames).map(([view, name]) => ({
    key: `view ${view}`,
    title: t("Open {name}", { name }),
    run() {
      app.view.value = view as View;
    },
  }));
  const { theme } = app.layout.preferences;
  const coloured = themes.map((name) => ({
    key: `theme ${name}`,
    title: themeNames[name],
    chosen: theme.value === name,
    run() {
      theme.value = name;
    },
  }));
  return [...pressed, ...shown, ...coloured];
}

/** The models, where there are several. */
function models(app: App): Choice[] {
  if (app.served.value.length < 2) return [];
  const chat = app.chats.current.peek();
  const chosen = app.answering(chat.settings.peek());
  const choose = (model: string) => {
    app.view.value = "chat";
    app.chooseModel(chat, model);
  };
  return modelChoices(app, { chosen, choose });
}

function strategies(app: App): Choice[] {
  const chat = app.chats.current.peek();
  const settings = chat.settings.peek();
  const plugins = app.plugins.value;
  const ready = readyStrategies(settings, plugins, namedScripts.list.value);
  if (ready.length < 2) return [];
  return ready.map((strategy) => ({
    key: `strategy ${strategy.program ?? ""} ${strategy.title}`,
    title: strategy.title,
    chosen: writes(strategy, settings, plugins),
    run() {
      app.view.value = "chat";
      changeStrategy(app, chat, (before) => withAtHand(before, strategy, plugins));
    },
  }));
}
