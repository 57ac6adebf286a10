// SPDX-License-Identifier: MIT

// A part of the settings that can be folded.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Icon } from "../icon.tsx";

interface Props {
  title: string;
  now?: string; // what it is set to, in a few words
  begin?: "open" | "closed";
  children: ComponentChildren;
}

const shown = new Map<string, boolean>(); // as a person left it, until the page is reloaded

/** A part of the settings that can be folded away. */
export function FoldingPart({ title, now = "", begin = "open", children }: Props) {
  const open = useSignal(shown.get(title) ?? begin === "open");
  return (
    <details
      class="part"
      open={open.value}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
        shown.set(title, open.value);
      }}
    >
      <summary>
        <Icon name="chevron" />
        <h3>{title}</h3>
        <span class="now">{now}</span>
      </summary>
      {open.value && <div class="part-body">{children}</div>}
    </details>
  );
}
