// SPDX-License-Identifier: MIT

// What the page loads once there is a file: to be read, shown, recorded, exported or imported. One
// part, as several would share too much with the first load, which would be cut into many pieces
// then.
export { attach } from "../../chats/attaching.ts";
export { sketchFile } from "../../media/picture.ts";
export { FileList } from "./list.tsx";
export { Recorder } from "./recorder.tsx";
export { saveArchive, saveTranscript } from "./saving.ts";
export { takeFiles } from "./taking.ts";
