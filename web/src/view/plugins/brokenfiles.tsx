// SPDX-License-Identifier: MIT

// The files of the plugin folder that could not be loaded.
import { t } from "../../language/language.ts";
import { fileRemedy, type PluginFile, sizeWords } from "../../plugins/pluginfile.ts";
import { sentence } from "../../text/sentence.ts";

/** The files of the folder that hold no plugin, each with the reason. */
export function BrokenFiles({ files }: { files: readonly PluginFile[] }) {
  return (
    <section class="broken" aria-labelledby="broken-title">
      <h2 id="broken-title">{t("Files that could not be loaded")}</h2>
      <ul>
        {files.map(({ file, size, error }) => (
          <li key={file}>
            <p class="file-name">
              <code>{file}</code> <span class="hint">{sizeWords(size)}</span>
            </p>
            <p>{sentence(error)}</p>
            <p class="hint">{fileRemedy(error)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
