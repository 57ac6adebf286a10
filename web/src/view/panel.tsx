// SPDX-License-Identifier: MIT

// A button with a panel above it, whose code is loaded when it is first opened.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useId, useRef } from "preact/hooks";
import { Lazy } from "./lazy.tsx";

interface Props {
  label: string; // of the panel
  title: string;
  load(): Promise<{ default: ComponentType<object> }>;
  children: ComponentChildren; // what the button shows
}

const gap = 6; // pixels between the button and its panel, and around that

/**
 * A button that opens a panel above it, for what belongs to the message field. Escape and a click
 * elsewhere close it.
 */
export function Panel({ label, title, load, children }: Props) {
  const id = useId();
  const open = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const toggled = ({ newState }: { newState: string }) => {
    open.value = newState === "open";
    if (!open.peek() || button.current === null || panel.current === null) return;
    place(panel.current, button.current);
    panel.current.focus();
  };
  return (
    <>
      <button
        type="button"
        class="differs"
        ref={button}
        title={title}
        aria-haspopup="dialog"
        aria-expanded={open.value}
        popovertarget={id}
      >
        {children}
      </button>
      <div
        id={id}
        ref={panel}
        class="panel-above"
        popover="auto"
        role="dialog"
        aria-label={label}
        tabIndex={-1}
        onToggle={toggled}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.stopPropagation(); // it closes the panel, and stops no answer
        }}
      >
        {open.value && <Lazy<object> load={load} />}
      </div>
    </>
  );
}

/** Above its button, where it grows upwards, and never beyond the window's edges. */
function place(panel: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const left = Math.min(at.left, window.innerWidth - panel.offsetWidth - gap);
  panel.style.left = `${Math.max(gap, left)}px`;
  panel.style.bottom = `${window.innerHeight - at.top + gap}px`;
  panel.style.maxHeight = `${at.top - 2 * gap}px`;
}
