// SPDX-License-Identifier: MIT

// The editor: a text field over coloured code, with line numbers.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { ScriptError } from "../../host/scriptroutes.ts";
import { t } from "../../language/language.ts";
import type * as Highlighting from "../../text/highlight.ts";
import { insertText, offsetOf } from "./typing.ts";

interface Props {
  field: RefObject<HTMLTextAreaElement | null>;
  value: string;
  error: ScriptError | undefined;
  change(value: string): void;
}

/**
 * A field for JavaScript. Its text is drawn behind it in colours, and gives it its size, so that
 * the frame around both scrolls.
 */
export function Editor({ field, value, error, change }: Props) {
  const leaving = useSignal(false); // Tab leads out of the field
  const html = useColours(value);
  const lines = value.split("\n").length;
  const wrong = error?.line !== undefined && error.line <= lines ? error.line : undefined;
  const help = leaving.value
    ? t("Tab now leaves the editor.")
    : t("Tab indents. Press Esc before Tab to leave the editor.");
  return (
    <div class="code-editor">
      <label for="script-source" class="hidden">
        {t("Script")}
      </label>
      <div class="code-frame" data-wrong={error !== undefined}>
        <ol class="gutter" aria-hidden="true">
          {Array.from({ length: lines }, (_, i) => (
            <li key={i} data-wrong={wrong === i + 1} title={wrong === i + 1 ? error?.message : undefined}>
              {i + 1}
            </li>
          ))}
        </ol>
        <div class="code-text">
          {wrong !== undefined && <span class="wrong-line" style={{ "--line-at": wrong - 1 }} />}
          {html === undefined ? (
            <pre aria-hidden="true">{`${value}\n`}</pre>
          ) : (
            <pre aria-hidden="true" dangerouslySetInnerHTML={{ __html: `${html}\n` }} />
          )}
          <textarea
            id="script-source"
            ref={field}
            wrap="off"
            spellcheck={false}
            autocapitalize="off"
            autocomplete="off"
            aria-invalid={error !== undefined}
            aria-describedby="script-error script-keys" // untranslated: ids
            placeholder={t("// five lines of JavaScript, or one of the gallery's scripts")}
            value={value}
            onInput={(event) => change(event.currentTarget.value)}
            onBlur={() => {
              leaving.value = false;
            }}
            onKeyDown={(event) => onKey(event, leaving)}
          />
        </div>
      </div>
      <p class="hint" id="script-keys" role="status">
        {help}
      </p>
      <Problem error={error} line={wrong} field={field} />
    </div>
  );
}

/** Indents with Tab, unless Escape was pressed before; Enter keeps the indentation. */
function onKey(event: KeyboardEvent, leaving: { value: boolean }): void {
  const field = event.currentTarget as HTMLTextAreaElement;
  const plain = !event.ctrlKey && !event.altKey && !event.metaKey;
  if (event.key === "Escape") {
    if (!leaving.value) event.preventDefault(); // the next one closes the panel
    leaving.value = true;
  } else if (event.key === "Tab" && plain) {
    if (leaving.value || event.shiftKey) return;
    event.preventDefault();
    insertText(field, "  ");
  } else if (event.key === "Enter" && plain) {
    const line = field.value.slice(0, field.selectionStart).split("\n").at(-1) ?? "";
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    leaving.value = false;
    if (indent === "") return;
    event.preventDefault();
    insertText(field, `\n${indent}`);
  } else if (event.key !== "Shift") {
    leaving.value = false;
  }
}

/** What is wrong, with a way to its line. */
function Problem({
  error,
  line,
  field,
}: {
  error: ScriptError | undefined;
  line: number | undefined;
  field: Props["field"];
}) {
  return (
    <div id="script-error" role="alert">
      {error !== undefined && (
        <p class="problem">
          {line !== undefined && (
            <>
              <button type="button" class="link" onClick={() => goTo(field.current, line, error.column ?? 1)}>
                {t("Line {n}", { n: String(line) })}
              </button>
              {": "}
            </>
          )}
          {error.message}
        </p>
      )}
    </div>
  );
}

/** Puts the cursor into a line. */
function goTo(field: HTMLTextAreaElement | null, line: number, column: number): void {
  if (field === null) return;
  const at = offsetOf(field.value, line, column);
  field.focus();
  field.setSelectionRange(at, at);
}

/** The code with its colours; undefined while what colours it is being loaded. */
function useColours(code: string): string | undefined {
  const colours = useSignal<typeof Highlighting | undefined>(undefined);
  useEffect(() => {
    import("../../text/highlight.ts").then(
      (module) => {
        colours.value = module;
      },
      () => {}, // then it stays in one colour
    );
  }, [colours]);
  const module = colours.value;
  return useMemo(() => module?.highlight(code, "javascript"), [module, code]);
}
