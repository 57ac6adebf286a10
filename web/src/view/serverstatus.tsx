// SPDX-License-Identifier: MIT

// The state of the connection, and what is shown while there is none.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConnectionStatus } from "../host/connection.ts";
import { t } from "../language/language.ts";
import { useApp } from "./appcontext.ts";

/** Whether there is a server at the other end. */
export function StatusLine() {
  const { connection } = useApp();
  const status = connection.status.value;
  const now = useSignal(Date.now());
  useEffect(() => {
    if (status.kind !== "waiting") return;
    const clock = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(clock);
  }, [status, now]);
  useEffect(() => {
    const seen = () => {
      if (document.visibilityState === "visible" && connection.status.peek().kind === "waiting")
        void connection.connect();
    };
    const online = () => void connection.connect();
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("online", online);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("online", online);
    };
  }, [connection]);
  useSignalEffect(() => {
    void connection.status.value;
    now.value = Date.now();
  });
  return (
    <p class="status" role="status" id="status" data-kind={status.kind}>
      <span class="dot" aria-hidden="true" />
      <span>{words(status)}</span>
      {status.kind === "waiting" && (
        // Not for screen readers: they would read it out each second.
        <span class="countdown" aria-hidden="true">
          {countdown(status.retryAt - now.value)}
        </span>
      )}
      {status.kind === "waiting" && (
        <button type="button" class="link" onClick={() => void connection.connect()}>
          {t("Try now")}
        </button>
      )}
    </p>
  );
}

function words(status: ConnectionStatus): string {
  switch (status.kind) {
    case "connecting":
      return t("Connecting…");
    case "online":
      return t("Online");
    case "loading":
      return t("Loading the model");
    case "locked":
      return t("Key needed");
    case "waiting":
      return t("Reconnecting");
  }
}

function countdown(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds > 1 ? t("in {n} s", { n: seconds }) : "…";
}

/** Says why there is no server at the other end. */
export function Outage() {
  const status = useApp().connection.status.value;
  if (status.kind === "loading") return <Loads done={status.done} />;
  if (status.kind !== "waiting") return null;
  return (
    <p class="outage" role="alert">
      <strong>{t("Not connected:")}</strong>{" "}
      {t("{why}. Your chats are here, and the page reconnects by itself.", { why: status.why })}
    </p>
  );
}

/** How far the server's first model is. The page goes on by itself. */
function Loads({ done }: { done: number }) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, done)));
  return (
    <div class="outage loads" role="status">
      {percent === 0 ? t("The server is starting.") : t("The server loads its model")}{" "}
      {percent > 0 && <progress max={100} value={percent} aria-label={t("The server loads its model")} />}
      {/* Not for screen readers: they would read out each step. */}
      {percent > 0 && <span aria-hidden="true"> {percent} %. </span>}
      {t("You can write your question meanwhile.")}
    </div>
  );
}
