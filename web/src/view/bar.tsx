// SPDX-License-Identifier: MIT
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useApp } from "../app.ts";
import type { Status } from "../host/connection.ts";
import { Icon } from "./icon.tsx";

/** The head of the page: the model, and whether there is a server at the other end. */
export function Bar() {
  const { models, drawer } = useApp();
  return (
    <header class="bar">
      <p class="model" title="The model that answers">
        {models.value[0]}
      </p>
      <StatusLine />
      <button
        type="button"
        class="quiet"
        onClick={() => {
          drawer.value = drawer.peek()?.kind === "settings" ? undefined : { kind: "settings" };
        }}
      >
        <Icon name="settings" />
        Settings
      </button>
    </header>
  );
}

function StatusLine() {
  const { connection } = useApp();
  const status = connection.status.value;
  const now = useSignal(Date.now());
  useEffect(() => {
    const clock = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    const seen = () => {
      if (document.visibilityState === "visible" && connection.status.peek().kind === "waiting")
        void connection.connect();
    };
    const online = () => void connection.connect();
    document.addEventListener("visibilitychange", seen);
    window.addEventListener("online", online);
    return () => {
      clearInterval(clock);
      document.removeEventListener("visibilitychange", seen);
      window.removeEventListener("online", online);
    };
  }, [connection, now]);
  useSignalEffect(() => {
    void connection.status.value;
    now.value = Date.now();
  });
  return (
    <p class="status" role="status" id="status" data-kind={status.kind}>
      <span class="dot" aria-hidden="true" />
      <span>{words(status, now.value)}</span>
      {status.kind === "waiting" && (
        <button type="button" class="link" onClick={() => void connection.connect()}>
          Try now
        </button>
      )}
    </p>
  );
}

function words(status: Status, now: number): string {
  switch (status.kind) {
    case "connecting":
      return "Connecting…";
    case "online":
      return "Online";
    case "locked":
      return "Key needed";
    case "waiting": {
      const seconds = Math.ceil((status.retryAt - now) / 1000);
      return seconds > 1 ? `Reconnecting in ${seconds} s` : "Reconnecting…";
    }
  }
}
