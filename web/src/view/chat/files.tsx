// SPDX-License-Identifier: MIT
import type { Attachment } from "../../chats/message.ts";
import { Lazy } from "../lazy.tsx";

export interface FilesProps {
  files: readonly Attachment[];
  onRemove?(file: Attachment): void;
}

const list = async () => ({ default: (await import("../files/all.ts")).FileList });

/** The files of a question. Each can be opened. */
export function Files(props: FilesProps) {
  return props.files.length === 0 ? null : <Lazy load={list} with={props} />;
}
