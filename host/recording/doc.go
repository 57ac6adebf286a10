// SPDX-License-Identifier: MIT

// Package recording records requests with what their plugins were asked and answered, and keeps
// the recordings in a folder.
//
// What is recorded stays in memory until the answers have ended. Then a goroutine of its own
// writes the file, so that neither a tick nor a background sampler waits for it.
//
// # Why does a recording have all candidates, and not a digest of the logits?
//
// A digest would tell that something differs, but a player without the model could not show the
// plugin anything. Only what a plugin *leaves* of a whole row is kept as a digest, with its best
// entries for the reader.
//
// # Why do recordings lie on the disk, and are written after the answer?
//
// People need a recording later, often after they have changed the plugin and restarted the server.
// In memory a hundred recordings would take gigabytes. While the answer is computed the calls are
// kept as they are, by the background sampler; packing them takes longer than computing them, so a
// goroutine of its own does it at the end, one recording at a time. No tick and no background
// sampler waits for a file. The header of a file names its owner, as a hash that differs from file
// to file, so that no list of owners has to agree with the folder after a crash.
package recording
