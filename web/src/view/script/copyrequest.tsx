// SPDX-License-Identifier: MIT

// Copies the request with the script, to be sent from elsewhere.
import { useSignal } from "@preact/signals";
import type { App } from "../../app.ts";
import type { GenerateRequest } from "../../host/protocol.ts";
import { t } from "../../language/language.ts";
import { curlCommand } from "../../settings/curl.ts";
import { copyText } from "../clipboard.ts";
import { Icon } from "../icon.tsx";

/** Copies the request with the script as a curl command, or as the body alone. */
export function CopyRequest({ app, request }: { app: App; request(): GenerateRequest }) {
  const said = useSignal("");
  const copy = (text: string, copied: string) =>
    copyText(text).then(
      () => {
        said.value = copied;
      },
      () => {
        said.value = t("The browser does not let this page copy.");
      },
    );
  return (
    <p class="copies">
      <button
        type="button"
        class="quiet"
        onClick={() =>
          copy(curlCommand(app.base, request(), app.keeper.key !== ""), t("The curl command is copied."))
        }
      >
        <Icon name="copy" />
        {t("Copy as curl")}
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => copy(JSON.stringify(request(), undefined, 2), t("The request’s body is copied."))}
      >
        <Icon name="copy" />
        {t("Copy as JSON")}
      </button>
      <span class="hint" role="status">
        {said}
      </span>
    </p>
  );
}
