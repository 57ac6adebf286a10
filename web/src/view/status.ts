// SPDX-License-Identifier: MIT
import type { Connection, Status } from "../connection.ts";
import { byId } from "./dom.ts";

/** Whether there is a server at the other end, and when the next try comes if not. */
export function showStatus(connection: Connection): void {
  const status = byId("status", HTMLElement);
  const text = byId("status-text", HTMLElement);
  const retry = byId("retry", HTMLButtonElement);
  let clock: ReturnType<typeof setInterval> | undefined;

  const show = (now: Status) => {
    clearInterval(clock);
    status.dataset.kind = now.kind;
    retry.hidden = now.kind !== "waiting";
    text.textContent = words(now);
    if (now.kind !== "waiting") return;
    clock = setInterval(() => {
      text.textContent = words(now);
    }, 1000);
  };

  connection.changes.listen(show);
  show(connection.status);
  retry.addEventListener("click", () => void connection.connect());
  window.addEventListener("online", () => void connection.connect());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && connection.status.kind === "waiting")
      void connection.connect();
  });
}

function words(status: Status): string {
  switch (status.kind) {
    case "connecting":
      return "Connecting…";
    case "online":
      return "Online";
    case "locked":
      return "Key needed";
    case "waiting": {
      const seconds = Math.ceil((status.retryAt - Date.now()) / 1000);
      return seconds > 1 ? `Reconnecting in ${seconds} s` : "Reconnecting…";
    }
  }
}
