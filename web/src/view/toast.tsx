// SPDX-License-Identifier: MIT

// Messages that belong to no answer, with an offer to undo.
import { useEffect } from "preact/hooks";
import { t } from "../language/language.ts";
import { useApp } from "./appcontext.ts";
import { Icon } from "./icon.tsx";

const offerFor = 12_000; // milliseconds that an action can be undone

/**
 * Tells what happened outside of any answer. It is read out when there is time, and stays until it
 * is closed, or its offer ends.
 */
export function Toast() {
  const { notice, offer } = useApp();
  const offered = offer.value;
  useEffect(() => {
    if (offered === undefined || offered.lasts) return;
    const timer = setTimeout(() => {
      if (offer.peek() === offered) offer.value = undefined;
    }, offerFor);
    return () => clearTimeout(timer);
  }, [offered, offer]);
  const close = () => {
    notice.value = "";
    offer.value = undefined;
  };
  return (
    <div class="toasts" role="status">
      {notice.value !== "" && <Line text={notice.value} close={close} />}
      {offered !== undefined && (
        <Line text={offered.text} close={close}>
          <button
            type="button"
            class="link"
            onClick={() => {
              offer.value = undefined;
              offered.run();
            }}
          >
            {offered.action}
          </button>
        </Line>
      )}
    </div>
  );
}

function Line({
  text,
  close,
  children,
}: {
  text: string;
  close(): void;
  children?: preact.ComponentChildren;
}) {
  return (
    <div class="toast">
      <p>{text}</p>
      {children}
      <button type="button" class="quiet" aria-label={t("Dismiss")} title={t("Dismiss")} onClick={close}>
        <Icon name="close" />
      </button>
    </div>
  );
}
