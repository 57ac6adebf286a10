// SPDX-License-Identifier: MIT

// Listens for shortcuts, and shows the list of them.
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { App } from "../../app.ts";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { shortcutsOf } from "./shortcutlist.ts";
import { type Shortcut, shortcutOf, takesKeys } from "./shortcutof.ts";
import { helpShown, paletteShown } from "./shown.ts";

function toggleHelp(): void {
  helpShown.value = !helpShown.peek();
}

function showPalette(): void {
  helpShown.value = false;
  paletteShown.value = true;
}

/** Listens for shortcuts, and shows them when asked. */
export function Shortcuts() {
  const app = useApp();
  const shortcuts = useMemo(() => shortcutsOf(app, { help: toggleHelp, palette: showPalette }), [app]);
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      pressed(event, shortcuts, app.layout.preferences.keys.peek());
      leave(event, app);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [shortcuts, app]);
  return helpShown.value ? <Help shortcuts={shortcuts} /> : null;
}

function pressed(event: KeyboardEvent, shortcuts: readonly Shortcut[], letters: boolean): void {
  const at = document.activeElement;
  const dialog = document.querySelector("dialog[open]") !== null;
  const shortcut = shortcutOf(shortcuts, event, { typing: takesKeys(at), letters });
  if (shortcut === undefined || (dialog && !helpShown.peek())) return;
  if (helpShown.peek() && shortcut.key !== "?" && !shortcut.ctrl) return;
  event.preventDefault();
  shortcut.run();
}

/**
 * Escape leads out of the message field, to where letters are shortcuts, and closes what stands
 * beside the chat, where nothing else has the focus: unless it stops an answer.
 */
function leave(event: KeyboardEvent, app: App): void {
  if (event.key !== "Escape" || event.defaultPrevented || app.chats.current.peek().run !== undefined) return;
  const field = document.getElementById("question");
  const at = document.activeElement;
  if (at === field) field?.blur();
  else if (at === document.body) app.drawer.value = undefined;
}

function Help({ shortcuts }: { shortcuts: readonly Shortcut[] }) {
  const { keys } = useApp().layout.preferences;
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    helpShown.value = false;
  };
  return (
    <dialog
      class="help"
      aria-labelledby="help-title"
      ref={dialog}
      onClose={close}
      onPointerDown={(event) => event.target === dialog.current && close()}
    >
      <form method="dialog">
        <header>
          <h2 id="help-title">{t("Keyboard shortcuts")}</h2>
          <button type="submit" class="quiet" aria-label={t("Close")} title={t("Close")}>
            <Icon name="close" />
          </button>
        </header>
        <dl>
          {shortcuts.map(({ key, ctrl, shift, name }) => (
            <Line
              key={name}
              keys={[...(ctrl ? [t("key|Ctrl")] : []), ...(shift ? [t("key|Shift")] : []), key.toUpperCase()]}
              name={name}
            />
          ))}
          <Line keys={[t("key|Esc")]} name={t("Stop the answer, or leave the message field")} />
          <Line keys={["F2"]} name={t("Rename the chat that has the focus")} />
          <Line keys={[t("key|Delete")]} name={t("Delete the chat that has the focus")} />
        </dl>
        <label class="check">
          <input
            type="checkbox"
            role="switch"
            class="switch"
            aria-checked={keys}
            checked={keys}
            onChange={(event) => {
              keys.value = event.currentTarget.checked;
            }}
          />
          <span>
            {t("Single keys are shortcuts")}
            <small>
              {t(
                "They never are while you type; Esc leaves the message field. Switch them off if you use speech input.",
              )}
            </small>
          </span>
        </label>
      </form>
    </dialog>
  );
}

function Line({ keys, name }: { keys: readonly string[]; name: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dd>
    </div>
  );
}
