// SPDX-License-Identifier: MIT

// The text of a file, in a dialog.
import type { TextFile } from "../../chats/message.ts";
import { splitControls, withoutControls } from "../../text/bidi.ts";
import { FileDialog } from "./filedialog.tsx";

/** The text of a file. */
export function TextDialog({ file, close }: { file: TextFile; close(): void }) {
  return (
    <FileDialog name={withoutControls(file.name)} close={close}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and keys are to reach it */}
      <pre tabIndex={0}>
        {splitControls(file.text).map(({ text, control }) =>
          control ? <span class="control" data-name={control} /> : text,
        )}
      </pre>
    </FileDialog>
  );
}
