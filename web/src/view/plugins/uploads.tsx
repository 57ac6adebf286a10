// SPDX-License-Identifier: MIT

// The upload button, and the uploads that are on their way.
import { useRef } from "preact/hooks";
import { t, tx } from "../../language/language.ts";
import { titleOf, type Upload } from "../../plugins/catalog.ts";
import { type PluginFile, sizeWords } from "../../plugins/pluginfile.ts";
import { Icon } from "../icon.tsx";
import { useCatalog } from "./catalogcontext.ts";

export function UploadButton() {
  const catalog = useCatalog();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="primary upload" onClick={() => input.current?.click()}>
        <Icon name="up" />
        {t("Upload")}
      </button>
      <input
        ref={input}
        type="file"
        class="hidden"
        accept=".wasm,application/wasm"
        multiple
        tabIndex={-1}
        aria-label={t("Plugin files")}
        onChange={(event) => {
          catalog.add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = ""; // so that the same file can be chosen again
        }}
      />
    </>
  );
}

/** The files of a drop; folders are none. */
export function droppedFiles(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

/** What is being uploaded, and how it went. */
export function Uploads() {
  const catalog = useCatalog();
  return (
    <ul class="uploads" aria-label={t("Uploads")} aria-live="polite">
      {catalog.uploads.value.map((upload) => (
        <li key={upload.id} data-phase={upload.phase}>
          <p class="file-name">
            <code>{upload.name}</code> <span class="hint">{sizeWords(upload.size)}</span>
          </p>
          <State upload={upload} />
          {(upload.phase === "done" || upload.phase === "failed") && (
            <button
              type="button"
              class="quiet"
              aria-label={t("Dismiss {what}", { what: upload.name })}
              title={t("Dismiss")}
              onClick={() => catalog.dismiss(upload.id)}
            >
              <Icon name="close" />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function State({ upload }: { upload: Upload }) {
  switch (upload.phase) {
    case "waiting":
      return <p class="hint">{t("Waiting for its turn…")}</p>;
    case "sending":
      return (
        <progress
          max={1}
          value={upload.share}
          aria-label={t("{file} is being sent", { file: upload.name })}
        />
      );
    case "loading":
      return <p class="hint">{t("The server checks it…")}</p>;
    case "asking":
      return <Replace upload={upload} />;
    default:
      return <p class={upload.phase === "failed" ? "problem" : "done"}>{upload.text}</p>;
  }
}

/** Asks before a plugin is replaced, and says what changes. */
function Replace({ upload }: { upload: Upload }) {
  const catalog = useCatalog();
  if (upload.replaces === undefined) return null;
  const { before, after } = upload.replaces;
  return (
    <fieldset class="replace" aria-label={t("Replace {plugin}?", { plugin: after.name })}>
      <p>
        {tx("There is a plugin {name} already. Answers that run keep the one they began with.", {
          name: <strong>{after.name}</strong>,
        })}
      </p>
      <dl>
        <dt>{t("Now")}</dt>
        <dd>{before === undefined ? t("not known") : <Fingerprint plugin={before} />}</dd>
        <dt>{t("New")}</dt>
        <dd>
          <Fingerprint plugin={after} />
        </dd>
      </dl>
      <p class="choices">
        <button type="button" class="primary" onClick={() => catalog.decide(upload.id, true)}>
          {t("Replace")}
        </button>
        <button type="button" class="quiet" onClick={() => catalog.decide(upload.id, false)}>
          {t("Keep the old one")}
        </button>
      </p>
    </fieldset>
  );
}

function Fingerprint({ plugin }: { plugin: PluginFile }) {
  return (
    <>
      {titleOf(plugin)} · {sizeWords(plugin.size)} ·{" "}
      <code title={plugin.sha256}>{plugin.sha256.slice(0, 12)}</code>
    </>
  );
}
