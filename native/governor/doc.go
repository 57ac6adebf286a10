// SPDX-License-Identifier: MIT

// Package governor chooses how many threads compute forward passes while other programs take the
// processors.
//
// The threads of a pass meet after each operation. One that loses its processor for a time slice,
// some milliseconds, holds up all others, and a pass has hundreds of operations. With another
// program on one of two cores, two threads are slower than one. How many are best depends on what
// else runs, on the model and on the kernel's scheduler, so the governor tries: it has passes
// computed with fewer threads and with as many as before in turns, and keeps what was faster. It
// only does so when threads were seen to wait for one that has no processor, which does not happen
// on a quiet machine. It goes back the same way once a core was idle: beside busy programs, a
// single pass by one thread too many can take a second.
//
// # Why are there fewer threads on a busy machine?
//
// A thread that has lost its processor gets it back after a time slice of some milliseconds, and
// a pass has hundreds of barriers at which the others wait. Beside one busy program on two cores,
// one thread is twice as fast as two. native/governor finds out how many threads are fastest by
// computing passes with two counts in turns. Only naps start such a trial, so nothing is tried on
// a quiet machine, and more threads are tried once a core was idle. A rule that counts busy
// programs would need to know their priorities, their cgroups and the kernel's scheduler. What is
// computed is the same to the bit with any number of threads; where ggml's own attention
// computes, which adds up in as many parts as there are threads, the number stays.
package governor
