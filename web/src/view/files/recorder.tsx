// SPDX-License-Identifier: MIT

// Records the microphone.
import "../../style/files.css";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { language, t } from "../../language/language.ts";
import { clock } from "../../text/numberformat.ts";
import { Icon } from "../icon.tsx";

const most = 480; // seconds, which are 15 MB

export interface RecorderProps {
  done(sound: File): void;
  close(problem?: string): void;
}

/** Records what a microphone hears, from when it is shown until it is stopped. */
export function Recorder({ done, close }: RecorderProps) {
  const seconds = useSignal(0);
  const recorder = useRef<MediaRecorder | undefined>(undefined);
  const stopButton = useRef<HTMLButtonElement>(null);
  const running = useSignal(false);
  useEffect(() => {
    let left = false;
    let timer: ReturnType<typeof setInterval>;
    const stop = () => recorder.current?.state === "recording" && recorder.current.stop();
    const begin = (stream: MediaStream) => {
      if (left) return silence(stream);
      const begun = Date.now();
      const parts: Blob[] = [];
      const now = new MediaRecorder(stream);
      now.addEventListener("dataavailable", ({ data }) => parts.push(data));
      now.addEventListener("stop", () => {
        silence(stream);
        const time = new Date(begun).toLocaleTimeString(language, { hour12: false, timeStyle: "short" });
        if (!left)
          done(new File(parts, t("Recording of {time}", { time }), { type: now.mimeType || "audio/webm" }));
      });
      now.start();
      recorder.current = now;
      running.value = true;
      timer = setInterval(() => {
        seconds.value = Math.floor((Date.now() - begun) / 1000);
        if (seconds.peek() >= most) stop();
      }, 250);
    };
    const microphones = navigator.mediaDevices; // exist only on https and localhost
    if (microphones === undefined) return close(insecure);
    microphones.getUserMedia({ audio: true }).then(begin, (error) => !left && close(reason(error)));
    return () => {
      left = true;
      clearInterval(timer);
      stop();
    };
  }, []); // begins once
  useLayoutEffect(() => {
    if (running.value) stopButton.current?.focus(); // it was disabled before
  }, [running.value]);
  return (
    <section class="recorder" aria-label={t("Recording")}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{running.value ? t("Recording") : t("Waiting for the microphone…")}</span>
      {running.value && <span role="timer">{clock(seconds.value)}</span>}
      <button type="button" class="quiet" onClick={() => close()}>
        {t("Discard")}
      </button>
      <button
        ref={stopButton}
        type="button"
        class="primary"
        disabled={!running.value}
        onClick={() => recorder.current?.stop()}
      >
        <Icon name="stop" />
        {t("Add")}
      </button>
    </section>
  );
}

const insecure = t("Browsers lend a microphone only to pages that are opened over HTTPS or at localhost.");

function silence(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

/** Why nothing can be recorded. */
function reason(error: unknown): string {
  const { name } = error as { name?: unknown };
  if (name === "NotAllowedError")
    return t("This page may not use the microphone. Allow it in the browser, then try again.");
  if (name === "NotFoundError") return t("There is no microphone.");
  const problem = error instanceof Error ? error.message : `${error}`;
  return t("The microphone cannot be used: {problem}", { problem });
}
