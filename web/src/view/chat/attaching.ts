// SPDX-License-Identifier: MIT
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useApp } from "../../app.ts";
import { attach } from "../../chats/attaching.ts";
import type { Attachment } from "../../chats/message.ts";
import { focusField } from "./focus.ts";

interface Attaching {
  problems: Signal<string[]>; // why files were not added
  add(files: File[]): Promise<void>;
  remove(file: Attachment): void;
}

/** The files of the draft at a place. */
export function useAttaching(place: ReadonlySignal<string>): Attaching {
  const { drafts } = useApp();
  const problems = useSignal<string[]>([]);
  const of = (at: string) => drafts.of(at).peek().files;
  return {
    problems,
    async add(picked) {
      const at = place.peek();
      const { files, problems: refused } = await attach(picked, of(at));
      drafts.change(at, { files: [...of(at), ...files] });
      problems.value = refused;
      focusField();
    },
    remove(file) {
      const at = place.peek();
      drafts.change(at, { files: of(at).filter((other) => other !== file) });
      focusField();
    },
  };
}
