// SPDX-License-Identifier: MIT

// The files of a question, loaded with the code that shows them.
import type { FilesProps } from "../files/filelist.tsx";
import { Lazy } from "../lazy.tsx";

const list = async () => ({ default: (await import("../files/filescode.ts")).FileList });

/** The files of a question. Each can be opened. */
export function QuestionFiles(props: FilesProps) {
  return props.files.length === 0 ? null : <Lazy load={list} with={props} />;
}
