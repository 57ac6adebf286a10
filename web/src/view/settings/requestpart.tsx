// SPDX-License-Identifier: MIT

// The request of a chat, to be sent from elsewhere.
import { useComputed, useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import { curlCommand, upToQuestion, webSocketFrame } from "../../settings/curl.ts";
import { copyText } from "../clipboard.ts";
import { FoldingPart } from "./foldingpart.tsx";
import { useEdit } from "./settingsedit.ts";

/** The request that these settings make, to be sent from elsewhere. */
export function RequestPart() {
  return (
    <FoldingPart title={t("Use it in a program")} now={kinds.join(", ")} begin="closed">
      <Request />
    </FoldingPart>
  );
}

const kinds = ["curl", "WebSocket"] as const;

function Request() {
  const { app, chat } = useEdit();
  const kind = useSignal<(typeof kinds)[number]>("curl");
  const copied = useSignal("");
  const asked = useComputed(() => chat.tree.path.value.length > 0);
  const text = useComputed(() => {
    const path = chat.tree.path.value.map((id) => chat.tree.node(id).peek());
    const request = app.request(chat.settings.value, upToQuestion(path));
    return kind.value === "curl"
      ? curlCommand(app.base, request, app.keeper.key !== "")
      : webSocketFrame(request);
  });
  return (
    <>
      <p class="lead">
        {asked.value
          ? t("What answering the last question again would send now.")
          : t("What the question “Hello!” would send now.")}
        {app.keeper.key !== "" && ` ${t("The key is taken from the variable PENSTOCK_API_KEY.")}`}
      </p>
      <div class="request-head">
        <fieldset class="pills">
          <legend class="hidden">{t("Form of the request")}</legend>
          {kinds.map((name) => (
            <button
              key={name}
              type="button"
              class="pill"
              aria-pressed={kind.value === name}
              onClick={() => {
                kind.value = name;
              }}
            >
              {name}
            </button>
          ))}
        </fieldset>
        <button
          type="button"
          class="link"
          onClick={async () => {
            await copyText(text.peek());
            copied.value = text.peek();
          }}
        >
          {copied.value === text.value ? t("Copied") : t("Copy the request")}
        </button>
      </div>
      <textarea
        class="code"
        rows={14}
        readOnly
        spellcheck={false}
        aria-label={t("The request")}
        value={text}
      />
    </>
  );
}
