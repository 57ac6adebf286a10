// SPDX-License-Identifier: MIT
import { parameterNamed } from "../settings/parameters.ts";
import type { HostError } from "./protocol.ts";

/**
 * What a person can do about an error, where the host's own words cannot know: they speak of request
 * fields, and this page has buttons. Empty if the host's words say it all.
 */
export function remedy(error: HostError): string {
  const about = `${error.type ?? ""} ${error.code ?? ""} ${error.param ?? ""}`;
  if (/connection_lost/.test(about)) {
    return "The page reconnects by itself. Ask again once it is online.";
  }
  if (/answer_gone/.test(about)) return "What had arrived is kept. Ask for the answer again.";
  if (/context/.test(about)) return "Start a new chat, or ask with fewer words.";
  if (/429|overloaded|queue|rate_limit/.test(about))
    return "Many people are asking. Wait a moment, then try again.";
  if (isSetting(error.param ?? "")) return "Change it in Settings, then try again.";
  if (/unavailable|503|shutting_down|shutdown/.test(about))
    return "The server is starting or stopping. Try again soon.";
  return "";
}

const others =
  /^(model|stop|samplers|plugins|json_schema|grammar|regex|response_format|chat_template_kwargs)$/;

/** Whether a field of a request, such as "plugins[0].config", is what the settings decide. */
function isSetting(field: string): boolean {
  const [name = ""] = field.split(/[.[]/);
  return parameterNamed(name) !== undefined || others.test(name);
}
