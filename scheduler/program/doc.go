// SPDX-License-Identifier: MIT

// Package program runs code that owns a request in place of a sampler chain. A program opens
// branches, which are lists of tokens in the KV cache, has the model compute what comes after
// them, and says which tokens the client is shown.
//
// It has a goroutine of its own. What it does to its branches changes its own view of them; when it
// waits for the model, the tick takes over all that has changed, computes, and lends the rows of
// logits back. So a program never sees the KV cache, and no lock is held while it thinks. Between
// two waits it is at work, and the tick waits for it only a moment, as for the background samplers
// of answers.
//
// program.go has what a program calls, branch.go the branches, row.go the rows and what they say,
// sampler.go and grammar.go how tokens are drawn from them, tick.go the tick's side of a wait, and
// a run without a scheduler, tree.go what a client sees of it.
//
// # Why does a program get its slots all at once?
//
// One by one, two programs could each hold slots that the other waits for. While a program waits
// for more slots than are free, others overtake it for ten seconds, so that slots do not stand
// empty behind one long answer, and then nobody does. When cells run out, a program's branches
// give theirs up one by one before anybody's slot is taken, first those that are not waited
// for. They are computed again when the program waits for them and there is room for all their
// tokens: else two branches, or one and an answer that grows, would take turns in computing what
// the next tick throws away. What was computed before has its row, so every wait ends.
//
// # How is a program recorded?
//
// By its calls of the host (host/plugin/guest/watch.go): what it gave, and what it got in its
// memory. That is small, as programs read the best few of a row, and it is all that they can
// know. A player gives the same once more and compares what the program does, so neither rows nor
// a scheduler are needed. The fuel of each call is written down, too, since it depends on rows
// and branches that a player does not have; so a program that runs out of fuel does so again at
// the same instruction.
//
// # Why does a client see a tree, and not branches?
//
// A branch is cut back and goes on, its handle is used for something else. What is told
// (scheduler/program/tree.go) never changes: a branch that is cut is two of the tree's, so a page
// only adds. It is noted only for requests with a trace, by the program's own goroutine, and what
// was chosen is found by comparing what was shown, since a program shows tokens and no branches.
//
// # Why does a skipped fault of a program not end the answer?
//
// `on_error: skip` means that the request goes on without the plugin. For a program the request's
// own chain is there all the time, so the answer goes on with it after what was shown.
//
// # Why are branches forked late?
//
// A branch gets a sequence when it is first waited for. Then what it has in common with others
// has been computed, or is computed by one of them first, and it is shared as any prefix is. In a
// beam search a branch is closed for each that is forked. The sequence of the closed one, which
// is evicted first and never saved, has all but the last tokens of the new one, so that only
// those are added: with cells of their own (split) a step copies a few cells of each fork and not
// the prompt. Only where a memory shares nothing but the end of a sequence, as recurrent states,
// do forks get theirs at once.
//
// # Why does a row count as a token?
//
// What a program may have computed is bounded by the tokens that it puts into branches. A fork
// has tokens without putting any in, and a cut leaves some, so a loop of forks, waits and closes
// would be computed forever, and each row would renew the fuel for the next. So a row that no
// new token pays for counts as one, and so does a run that ends before its first token. A wait
// that brings no row renews nothing, and costs what a turn of the tick does.
//
// # How does a branch go on without its program?
//
// As an answer does: it has an answer of the same kind, which nobody reads, with a chain of its
// own, so its tokens are drawn with those of all others in one native call, or by a background
// sampler where log-probabilities or a grammar are wanted. The program is asked nothing until the
// last token; a plugin that draws each token itself would have the tick wait for it as often. Where
// the branch has its row already, the first token is drawn from that, so nothing is computed twice.
//
// # How does a program write several choices?
//
// The first is the answer of its own job, which has the slots. Each other has a job with a stream
// and an answer in no slot and no queue, which gets what is shown of it. So each choice has its
// own stop strings, limits and plugins, and ends by itself. The end of the first one is told
// last: until then its job is the program's. Where a choice is to go on from a branch, its job
// becomes one that waits for a slot again, as if it had been preempted, and finds the branch's
// cells in the cache.
//
// # Why are rows lent to programs?
//
// A row is half a megabyte with a large vocabulary, and a program mostly asks for the best few
// tokens of it. They, the logarithm of the sum and the entropy are found natively in the
// backend's memory, before the next pass overwrites it. What is still needed then is copied. A
// chain that draws from the row borrows it as a background sampler does, so a slow one holds up
// nobody.
package program
