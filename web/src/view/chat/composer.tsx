// SPDX-License-Identifier: MIT

// The field for the next message, with its files and buttons.
import { type ReadonlySignal, type Signal, useComputed, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Chat } from "../../chats/chat.ts";
import { draftPlace } from "../../chats/drafts.ts";
import { t, tx } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { Icon } from "../icon.tsx";
import { Lazy } from "../lazy.tsx";
import { SteerButton } from "../steering/steerbutton.tsx";
import { Ways } from "../strategy/ways.tsx";
import { AttachButton } from "./attachbutton.tsx";
import { type DraftFiles, useDraftFiles } from "./draftfiles.ts";
import { DropZone } from "./dropzone.tsx";
import { focusField } from "./focus.ts";
import { loadMarkdown } from "./markdowncode.ts";
import { QuestionFiles } from "./questionfiles.tsx";
import { QueuedQuestion } from "./queuedquestion.tsx";

interface Props {
  chat: Chat;
  away: ReadonlySignal<boolean>;
  toEnd(): void;
  editing: Signal<string | undefined>;
}

/** The field for the next message, with what belongs to it. */
export function Composer({ chat, away, toEnd, editing }: Props) {
  const { connection, drafts, layout, queue } = useApp();
  const place = useComputed(() => draftPlace(chat));
  const draft = drafts.of(place.value).value;
  const attaching = useDraftFiles(chat, place);
  const field = useRef<HTMLTextAreaElement>(null);
  const dock = useHeight("--dock");
  const asking = attaching.choosing.value;
  const { run } = chat;
  const written = draft.text.trim() !== "" || draft.files.length > 0;
  const held = attaching.reading.value > 0 || attaching.notice.value?.blocks === true;
  const ready = written && !held && (run !== undefined || connection.status.value.kind === "online");
  const touch = layout.touch.value;

  useEffect(() => field.current?.focus(), []); // once nothing covers the page any more
  useEffect(() => {
    if (written) loadMarkdown().catch(() => {}); // for the answer, which tries again
  }, [written]);
  useGrowing(field, draft.text);
  useStopKey(chat);
  const send = () => {
    const question = { text: draft.text.trim(), files: [...draft.files] };
    drafts.clear(place.peek());
    attaching.problems.value = [];
    if (run === undefined) chat.ask(question.text, question.files);
    else queue.add(chat.id, question);
  };
  const { submit, awaited } = useSubmit(ready, attaching, send);
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !touch) submit(event);
    if (event.key !== "ArrowUp" || written || run !== undefined) return;
    const last = chat.tree.path.peek().findLast((id) => chat.tree.node(id).peek().role === "user");
    if (last === undefined) return;
    event.preventDefault();
    editing.value = last;
  };

  return (
    <>
      <footer class="dock" ref={dock}>
        <DropZone onFiles={attaching.add} />
        {away.value && chat.tree.path.value.length > 0 && (
          <button type="button" class="latest" onClick={toEnd}>
            <Icon name="down" />
            {t("Latest")}
          </button>
        )}
        <Problems attaching={attaching} awaited={awaited} />
        <Ways chat={chat} />
        {run !== undefined && <SteerButton id={run.id} />}
        <QueuedQuestion chat={chat} place={place.value} />
        {attaching.recording.value && <Recording attaching={attaching} />}
        <form class="composer" onSubmit={submit}>
          <QuestionFiles files={draft.files} onRemove={attaching.remove} />
          <AttachButton attaching={attaching} />
          <label for="question" class="hidden">
            {t("Your message")}
          </label>
          <textarea
            id="question"
            dir="auto"
            ref={field}
            rows={1}
            placeholder={t("Ask anything")}
            autocomplete="off"
            enterkeyhint={touch ? "enter" : "send"}
            aria-describedby="keys"
            value={draft.text}
            onInput={(event) => drafts.change(place.peek(), { text: event.currentTarget.value })}
            onKeyDown={keys}
            onPaste={(event) => attaching.paste(event)}
          />
          <SendButton chat={chat} running={run !== undefined} ready={ready || attaching.reading.value > 0} />
        </form>
        <Keys running={run !== undefined} />
      </footer>
      {asking !== undefined && <Lazy key={asking.number} load={pdfDialog} with={asking} />}
    </>
  );
}

/** Sends a message at once, or once its files are read, which is awaited then. */
function useSubmit(ready: boolean, { reading, problems }: DraftFiles, send: () => void) {
  const awaited = useSignal(false);
  const busy = reading.value > 0; // as ready knows it: the files may be read before this is drawn anew
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready) send();
    else awaited.value = busy || reading.value > 0;
  };
  useEffect(() => {
    if (!awaited.value || reading.value > 0) return;
    awaited.value = false;
    if (ready && problems.value.length === 0) send();
  });
  return { submit, awaited: awaited.value };
}

/** What the keys do in the field now. */
function Keys({ running }: { running: boolean }) {
  const enter = <kbd>Enter</kbd>;
  const broken = (
    <>
      <kbd>{t("key|Shift")}</kbd>+<kbd>Enter</kbd>
    </>
  );
  return (
    <p id="keys" class="keys">
      {running
        ? tx("{enter} queues, {broken} breaks the line, {esc} stops", { enter, broken, esc: <kbd>Esc</kbd> })
        : tx("{enter} sends, {broken} breaks the line, {up} edits", { enter, broken, up: <kbd>↑</kbd> })}
    </p>
  );
}

/** Why files were not added, and what is to be known of those of the chat. */
function Problems({ attaching, awaited }: { attaching: DraftFiles; awaited: boolean }) {
  const { problems, notice, reading } = attaching;
  const { text = "", blocks = false } = notice.value ?? {};
  const wrong = blocks ? [...problems.value, text] : problems.value;
  return (
    <>
      {wrong.length > 0 && (
        <div class="refused" role="alert">
          {wrong.map((problem) => (
            <p key={problem}>{problem}</p>
          ))}
        </div>
      )}
      <p class="noted" role="status">
        {reading.value > 0 ? readingWords(awaited) : blocks ? "" : text}
      </p>
    </>
  );
}

function readingWords(awaited: boolean): string {
  return awaited ? t("Reading the files, then sending…") : t("Reading the files…");
}

const pdfDialog = async () => ({ default: (await import("../files/filescode.ts")).PDFDialog });

const recorder = async () => ({ default: (await import("../files/filescode.ts")).Recorder });

function Recording({ attaching }: { attaching: DraftFiles }) {
  const props = {
    done(sound: File) {
      attaching.recording.value = false;
      void attaching.add([sound]);
    },
    close(problem?: string) {
      attaching.recording.value = false;
      if (problem !== undefined) attaching.problems.value = [problem];
      focusField();
    },
  };
  return <Lazy load={recorder} with={props} />;
}

function SendButton({ chat, running, ready }: { chat: Chat; running: boolean; ready: boolean }) {
  if (running) {
    return (
      <>
        {ready && (
          <button
            type="submit"
            class="attach"
            aria-label={t("verb|Queue")}
            title={t("Send when this answer ends (Enter)")}
          >
            <Icon name="up" />
          </button>
        )}
        <button
          type="button"
          class="round"
          aria-label={t("Stop")}
          title={t("Stop (Esc)")}
          onClick={({ detail }) => {
            if (detail < 2) chat.stop(); // else it is the second click of those that sent the question
          }}
        >
          <Icon name="stop" />
        </button>
      </>
    );
  }
  return (
    <button type="submit" class="round" aria-label={t("Send")} title={t("Send (Enter)")} disabled={!ready}>
      <Icon name="up" />
    </button>
  );
}

function useStopKey(chat: Chat): void {
  useLayoutEffect(() => {
    const stop = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (document.querySelector("dialog[open], :popover-open") === null) chat.stop();
    };
    document.addEventListener("keydown", stop);
    return () => document.removeEventListener("keydown", stop);
  }, [chat]);
}

/** Keeps the field as high as its text, where the style cannot. */
function useGrowing(field: { readonly current: HTMLTextAreaElement | null }, text: string): void {
  useEffect(() => {
    if (field.current === null || CSS.supports("field-sizing", "content")) return;
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [field, text]);
}

/** Tells the style how high an element is. */
function useHeight(variable: string): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (element.current === null) return undefined;
    const sizes = new ResizeObserver(([entry]) => {
      const height = entry?.borderBoxSize[0]?.blockSize ?? 0;
      document.body.style.setProperty(variable, `${height}px`);
    });
    sizes.observe(element.current);
    return () => sizes.disconnect();
  }, [variable]);
  return element;
}
