// SPDX-License-Identifier: MIT

// What the page loads once there is a file: to be read, shown, recorded, exported or imported. One
// part, as several would share much of it with each other.
export { attach, attachText } from "../../chats/attachments.ts";
export { FileList } from "./filelist.tsx";
export { importArchives } from "./importarchives.ts";
export { PDFDialog } from "./pdfdialog.tsx";
export { Recorder } from "./recorder.tsx";
export { duplicateChat, saveArchive, saveStandalone, saveTranscript } from "./savechats.ts";
