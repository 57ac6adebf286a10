// SPDX-License-Identifier: MIT

// A button with a menu.
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

export interface MenuItem {
  name: string;
  danger?: boolean;
  checked?: boolean; // of what is switched on and off
  run(): void;
}

interface Props {
  label: string;
  children: ComponentChildren; // what the button shows
  items: readonly MenuItem[];
  class?: string;
}

const gap = 4; // pixels between the button and its menu

/**
 * A button that opens a list of things to do. Arrow keys walk through it; Escape, a choice and a
 * click elsewhere close it.
 */
export function Menu({ label, children, items, class: className = "quiet" }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const opened = ({ newState }: { newState: string }) => {
    const open = newState === "open";
    button.current?.setAttribute("aria-expanded", String(open));
    if (!open || button.current === null || list.current === null) return;
    place(list.current, button.current);
    list.current.querySelector("button")?.focus();
  };
  return (
    <>
      <button
        type="button"
        class={className}
        ref={button}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded="false"
        popovertarget={id}
      >
        {children}
      </button>
      <div
        id={id}
        ref={list}
        class="menu"
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        onToggle={opened}
        onKeyDown={walk}
      >
        {items.map(({ name, danger, checked, run }) => (
          // biome-ignore lint/a11y/useAriaPropsSupportedByRole: what has it is a menuitemcheckbox
          <button
            key={name}
            type="button"
            role={checked === undefined ? "menuitem" : "menuitemcheckbox"}
            aria-checked={checked}
            tabIndex={-1}
            data-danger={danger}
            onClick={() => {
              list.current?.hidePopover();
              run();
            }}
          >
            {name}
          </button>
        ))}
      </div>
    </>
  );
}

/** Below its button, or above where there is no room, and never beyond the window's edges. */
export function place(menu: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = at.bottom + gap;
  const top = below + height <= window.innerHeight ? below : at.top - gap - height;
  menu.style.top = `${Math.max(gap, top)}px`;
  menu.style.left = `${Math.max(gap, Math.min(at.left, window.innerWidth - width - gap))}px`;
}

/** Moves the focus through a menu. */
function walk(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const items = [...event.currentTarget.querySelectorAll("button")];
  const at = items.indexOf(document.activeElement as HTMLButtonElement);
  const to: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const next = to[event.key];
  if (event.key === "Escape") event.stopPropagation(); // it closes the menu, and nothing else
  if (event.key === "Tab") event.currentTarget.hidePopover();
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}
