// SPDX-License-Identifier: MIT
import { parameterNamed } from "../settings/parameters.ts";
import type { HostError } from "./protocol.ts";

/**
 * What a person can do about an error, where the host's own words cannot know: they speak of request
 * fields, and this page has buttons. Empty if the host's words say it all.
 */
export function remedy(error: HostError): string {
  const about = `${error.type ?? ""} ${error.code ?? ""} ${error.param ?? ""}`;
  const known = remedies.find(([errors]) => errors.test(about));
  if (known !== undefined) return known[1];
  return isSetting(error.param ?? "") ? "Change it in Settings, then try again." : "";
}

const wait = "Many people are asking. Wait a moment, then try again.";
const started = "The server is starting or stopping. Try again soon.";

const remedies: readonly [RegExp, string][] = [
  [/connection_lost/, "The page reconnects by itself. Ask again once it is online."],
  [/answer_gone/, "What had arrived is kept. Ask for the answer again."],
  [/context/, "Start a new chat, or ask with fewer words."],
  [/body_too_large/, "Attach fewer or smaller files."],
  [/429|overloaded|queue|rate_limit|bodies_too_large|plugins_busy|no_slot|too_many_/, wait],
  [/model_not_found|model_not_loadable/, "Choose another model in Settings, then try again."],
  [/plugin_failed/, "Switch the plugin off in Settings, or choose another model there."],
  [
    /plugin_fault|plugin_quarantined/,
    "Switch the plugin off in Settings, or see Plugins for what happened to it.",
  ],
  [/unsatisfiable/, "Loosen the format of the answer, or what forbids tokens, in Settings."],
  [
    / timeout/,
    "The answer took longer than the server or the settings allow. Ask for a shorter one, or try again.",
  ],
  [/invalid_api_key/, "Reload the page to enter the server's key."],
  [/unavailable|503|shutting_down|shutdown|not_ready/, started],
];

const others =
  /^(model|stop|samplers|plugins|json_schema|grammar|regex|response_format|chat_template_kwargs)$/;

/** Whether a field of a request, such as "plugins[0].config", is what the settings decide. */
function isSetting(field: string): boolean {
  const [name = ""] = field.split(/[.[]/);
  return parameterNamed(name) !== undefined || others.test(name);
}
