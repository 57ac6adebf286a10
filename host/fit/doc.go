// SPDX-License-Identifier: MIT

// Package fit chooses with how large a context and how many slots a model is served, so that it
// fits into memory. What that takes is not estimated: llama.cpp tells it (model.DryRun).
//
// # How is it known what memory a model takes?
//
// llama.cpp's dry run says it: with no_alloc a model is read without its weights, and a context
// on it is planned without being allocated. Adding it up from the header was wrong wherever an
// architecture has something of its own: of Gemma 3 12B with 131,072 cells it made 48 GB of
// cache, where windows in five of six layers leave 11. What the dry run says is what a loaded
// model has taken, to the byte (TestDryRun_Need_IsWhatIsTaken); the rows of output are added,
// which it leaves out. It runs in a child process, as the trial of a model does, because a
// damaged file may end it. Its vocabulary is left out, since reading one takes most of the time:
// with it, a file with 262,144 tokens took three times as long. The answers are kept beside the
// notes of trials, so the next start reads a small file.
//
// # Why is a model's memory not measured once it is loaded?
//
// Weights are pages of a file. The kernel counts them as available even while they are used, so the
// memory that it reports as available hardly changes when a model is loaded. host/residency adds up
// what models take and compares the sum with a budget. What the system says counts, too: it knows
// of other programs.
//
// # Why does the context shrink before the slots do, and why is no configured value changed?
//
// A smaller context refuses long conversations, fewer slots have everybody wait. With 4096 tokens
// most conversations go on. A configured value is never overridden: a server with another value
// would fail later and elsewhere. So one that does not fit is refused at once, with the value
// that would.
package fit
