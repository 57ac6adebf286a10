// SPDX-License-Identifier: MIT

// The dialog that asks what of a PDF is to be added: its text, or pages of it as pictures.
import "../../style/files.css";
import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { PDFChoice, PDFFacts } from "../../chats/attachments.ts";
import { t, tn } from "../../language/language.ts";
import { mostDrawn } from "../../media/pdf.ts";
import { withoutControls } from "../../text/bidi.ts";
import { tokens } from "../../text/tokenestimate.ts";

interface Props {
  pdf: PDFFacts;
  answer(choice: PDFChoice): void;
}

/** Asks what of a PDF the model is to get, where it can see pictures. */
export function PDFDialog({ pdf: { name, pages, text }, answer }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const pictures = useSignal(text === "");
  const from = useSignal(1);
  const to = useSignal(Math.min(pages, mostDrawn));
  useLayoutEffect(() => {
    dialog.current?.showModal();
    return () => answer(undefined); // the way it is left; who has answered is not heard again
  }, []);
  const problem = pictures.value ? problemOf(from.value, to.value, pages) : "";
  const choice = { pictures, text };
  return (
    <dialog aria-labelledby="pdf-title" ref={dialog} onClose={() => answer(undefined)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (problem === "") answer(pictures.peek() ? { from: from.peek(), to: to.peek() } : "text");
        }}
      >
        <h2 id="pdf-title" class="pdf-name">
          {withoutControls(name)}
        </h2>
        <p>
          {tn(pages, "{n} page.", "{n} pages.")}
          {text === "" && ` ${t("It has no text: its pages may be scanned.")}`}
        </p>
        <Choice
          {...choice}
          is={false}
          label={t("Its text")}
          hint={text === "" ? t("There is none.") : tokens(text)}
        />
        <Choice
          {...choice}
          is={true}
          label={t("Pages as pictures")}
          hint={t("Keeps tables, formulas and drawings, and takes more of the context.")}
        />
        {pages > 1 && (
          <div class="fields">
            <PageField label={t("From page")} value={from} pages={pages} disabled={!pictures.value} />
            <PageField label={t("To page")} value={to} pages={pages} disabled={!pictures.value} />
          </div>
        )}
        {problem !== "" && (
          <p class="hint" role="alert">
            {problem}
          </p>
        )}
        <footer>
          <button type="button" class="quiet" onClick={() => answer(undefined)}>
            {t("Cancel")}
          </button>
          <button type="submit" class="primary" disabled={problem !== ""}>
            {t("Add")}
          </button>
        </footer>
      </form>
    </dialog>
  );
}

/** What is wrong with a choice of pages; "": nothing. */
function problemOf(from: number, to: number, pages: number): string {
  if (!(from >= 1 && to <= pages && to >= from)) return t("Choose pages from 1 to {n}.", { n: pages });
  return to - from < mostDrawn
    ? ""
    : t("Choose {n} pages at most: each becomes a picture.", { n: mostDrawn });
}

interface ChoiceProps {
  pictures: Signal<boolean>;
  text: string;
  is: boolean; // what pictures is when this is chosen
  label: string;
  hint: string;
}

function Choice({ pictures, text, is, label, hint }: ChoiceProps) {
  return (
    <label class="check">
      <input
        type="radio"
        name="pdf-as"
        checked={pictures.value === is}
        disabled={!is && text === ""}
        onChange={() => {
          pictures.value = is;
        }}
      />
      <span>
        {label}
        <small>{hint}</small>
      </span>
    </label>
  );
}

interface PageFieldProps {
  label: string;
  value: Signal<number>;
  pages: number;
  disabled: boolean;
}

function PageField({ label, value, pages, disabled }: PageFieldProps) {
  return (
    <label>
      {label}
      <input
        type="number"
        min={1}
        max={pages}
        step={1}
        required
        disabled={disabled}
        value={value}
        onInput={({ currentTarget }) => {
          value.value = currentTarget.valueAsNumber;
        }}
      />
    </label>
  );
}
