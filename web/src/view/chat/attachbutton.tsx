// SPDX-License-Identifier: MIT

// The button that adds files to the next message, and its menu.
import { useRef } from "preact/hooks";
import { t } from "../../language/language.ts";
import { cannot } from "../../media/medianotice.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { Menu, type MenuItem } from "../menu.tsx";
import type { DraftFiles } from "./draftfiles.ts";

/**
 * The ways to add files to the next message. What the model cannot take says so instead of asking
 * for a file.
 */
export function AttachButton({ attaching }: { attaching: DraftFiles }) {
  const app = useApp();
  const input = useRef<HTMLInputElement>(null);
  const choose = (accept = "", camera = false) => {
    if (input.current === null) return;
    input.current.accept = accept;
    if (camera) input.current.setAttribute("capture", "environment");
    else input.current.removeAttribute("capture"); // an empty one asks for the camera, too
    input.current.click();
  };
  const item = (name: string, type: string, run: () => void): MenuItem => ({
    name,
    run() {
      const model = attaching.model.peek();
      const lacks = cannot(app.abilitiesOf(model), type === "" ? [] : [{ type }]);
      attaching.problems.value =
        lacks === "" ? [] : [t("{model} {cannot}. Choose a model that can.", { model, cannot: lacks })];
      if (lacks === "") run();
    },
  });
  const items = [
    item(t("Text, PDF and office files"), "", () => choose()),
    item(t("Pictures"), "image/", () => choose("image/*")),
    ...(app.layout.touch.value ? [item(t("Take a photo"), "image/", () => choose("image/*", true))] : []),
    item(t("Sounds"), "audio/", () => choose("audio/*")),
    item(t("Record a sound"), "audio/", () => {
      attaching.recording.value = true;
    }),
  ];
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t("Files")}
        onChange={({ currentTarget }) => {
          void attaching.add([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // so that the same file can be picked again
        }}
      />
      <Menu class="attach" label={t("Add files")} items={items}>
        <Icon name="clip" />
      </Menu>
    </>
  );
}
