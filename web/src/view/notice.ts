// SPDX-License-Identifier: MIT
import type { Connection } from "../connection.ts";
import { byId } from "./dom.ts";

/** What went wrong outside of any answer; an answer shows its own errors. */
export function showNotice(connection: Connection): void {
  const notice = byId("notice", HTMLElement);
  const say = (words: string) => {
    if (notice.textContent !== words) notice.textContent = words; // an alert is read out with each change
    notice.hidden = words === "";
  };
  connection.changes.listen((status) => {
    if (status.kind === "online") say("");
    else if (status.kind === "waiting") {
      say(`Not connected: ${status.why}. The page tries again by itself.`);
    }
  });
  connection.frames.listen((frame) => {
    say(frame.type === "error" && frame.id === undefined ? frame.error.message : "");
  });
}
