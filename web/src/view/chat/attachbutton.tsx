// SPDX-License-Identifier: MIT

// The button that adds files to the next message, and its menu.
import { useRef } from "preact/hooks";
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
      attaching.problems.value = lacks === "" ? [] : [`${model} ${lacks}. Choose a model that can.`];
      if (lacks === "") run();
    },
  });
  const items = [
    item("Text, PDF and office files", "", () => choose()),
    item("Pictures", "image/", () => choose("image/*")),
    ...(app.layout.touch.value ? [item("Take a photo", "image/", () => choose("image/*", true))] : []),
    item("Sounds", "audio/", () => choose("audio/*")),
    item("Record a sound", "audio/", () => {
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
        aria-label="Files"
        onChange={({ currentTarget }) => {
          void attaching.add([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // so that the same file can be picked again
        }}
      />
      <Menu class="attach" label="Add files" items={items}>
        <Icon name="clip" />
      </Menu>
    </>
  );
}
