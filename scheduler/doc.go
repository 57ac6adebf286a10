// SPDX-License-Identifier: MIT

// Package scheduler turns many requests into one or two forward passes a tick.
//
// A request waits in the queue until a slot is free, then its prompt is computed in chunks
// (prefill), then one token a tick (decode). Both are the same thing here: its branch has tokens,
// of which the KV cache holds the first part; what is missing is pending. A tick computes pending
// tokens of slots that are ready: not parked, their background sampler neither busy nor resting.
// Every one that generates computes its token; of the prompts the first ones compute a chunk. A
// slot with none left pending samples its next token. Where tokens are guessed (speculate.go), a
// slot computes some after its own, and samples from their rows too as long as the guess was right.
// Resuming a preempted job, injected text and a rewind need no code of their own.
//
// One goroutine owns all of it (Run); all others talk to it through commands (submit.go) and
// streams (stream.go).
//
// A request is a job (job.go). An answer is a job with one branch, which draws by itself. A program
// is a job with several branches, which it drives (program.go); while it lets one go on by itself,
// that one draws as an answer does.
//
// Begin to read with tick.go. It listens, admits (admit.go, follow.go, thaw.go), and when it has
// its turn among the models of this machine (computelock.go), it plans (plan.go) and runs what was
// planned: speculate.go adds guessed tokens, pass.go computes, sample.go draws, emit.go sends and
// inspect.go records. A request comes in through submit.go and ends in emit.go; control.go steers
// it meanwhile, and fault.go has what goes wrong.
//
// # Which prompt goes first?
//
// The one with the fewest tokens left, because that makes the median wait shortest. If eight
// equal prompts are computed one after the other, the middle one is done in half the time that
// all need side by side. A prompt is not overtaken by more than eight times its own tokens, and
// every eighth tick goes to the prompt that has waited longest for a chunk, so none starves.
// Prompts of up to 64 tokens also get every other tick (never the eighth) for themselves, in
// which they may exceed the target: the more of them wait, the larger their share of its time, up
// to 92% (shortShare in scheduler/estimator/demand.go).
// Otherwise the first answers of a burst would generate with the machine half empty while the
// others wait.
//
// # Why may a first request wait for others?
//
// A page or a batch job sends eight requests at once, but the first is ready some milliseconds
// before the last. Computed alone, its prompt would take a pass, and its answer would then wait
// in each of the ticks that compute the others' prompts. So while no slot is in use and requests
// are on their way, that is, their prompts are being made, none is admitted: at most 4 ms, or a
// quarter of what its own pass takes, up to 50 ms. If none is known to come, it waits for a
// fiftieth of that pass, up to 1 ms: the requests of a burst reach the host one by one
// (Scheduler.gather). Of 84 bursts of 8 and 16 to a 135M model, from a client in Python, all
// prompts ended together; with 4 ms alone, those of about one in ten did not, and its streams
// then waited 170 to 350 ms for a token. It is a time before which nobody is admitted, and the
// tick sleeps as ever until then. A loop inside the tick, which took commands itself, would take
// wake-ups that are meant for the tick, could use a backend that its owner has let go, and could
// read tokens that a background sampler is writing.
//
// # Why does each part say when it wants the next tick?
//
// The tick sleeps until a command comes or something that waits for time is due: a deadline, a
// plugin's rest, a copy, a first request that is held back. Whatever waits registers that while it
// is examined, in that tick (Scheduler.tickAt and keepTicking in scheduler/tick.go, Cache.Next in
// scheduler/kvcache/cache.go). With flags, one for each case, a request hangs where two cases meet
// and one flag is missing: a copy that ends in the same tick in which a slot is left. A property
// test runs two schedulers as a host does, in a bubble where a lost wake-up is a deadlock.
//
// # Why are listeners called by the tick?
//
// A buffer between the two would lose records or hold the tick up once it is full, and each
// listener would need one, and a goroutine. Metrics must not lose any and take a microsecond. Who
// wants a buffer sends to one (a channel with room, package ring).
//
// # Why do the prompts of a burst end together?
//
// Sixteen prompts of 55 tokens are more than one pass takes. If some ended in the first, their
// answers would begin at once, and then wait for the rest of the prompts at the second or third
// token. So while no slot generates and all prompts have up to 128 tokens, 1,536 together, each
// keeps its last token for the last of these passes; none does so once 1,536 tokens of prompts were
// computed since it got its slot. (Ticks would be the wrong measure: a chunk has 80 tokens with a
// model of 1B on two cores, and many more with smaller ones.) The first answers begin later, the
// last earlier, and none stutters. Simulated (machine cpu, 16 at once): median TTFT 369 ms and 233
// without, largest TTFT 369 ms and 500, longest gap in an answer 15 ms and 168. Longer prompts do
// not wait for each other: the wait would be seconds.
//
// A burst that follows another finds the old conversations in its slots. They are saved first, on
// a thread beside the passes, which is right while answers are generated: nobody waits for the
// copy. While none is, the tick copies itself, up to 30 ms (longestIdleCopy): the thread would
// have one more slot ready in each tick, and 16 prompts would take 11 passes.
//
// # Why is a branch not a job of its own?
//
// A job has a stream, a background sampler and a place in the queue, and is preempted alone. A
// program's branches wait, are paused, preempted and ended together. So a job has branches, of
// which an answer has one, and slots and the plan of a tick list branches. What draws tokens from a
// branch's rows is a drawer: an answer's own, or one that a program's branch has while it goes on
// by itself. So a job's kind says whether a program drives it, a branch's drawer whose its rows
// are, and planning, passes and sampling ask nothing else.
//
// # Why does a context shift compute what is left anew?
//
// llama-server moves the cells that stay to their new positions. That costs nothing, but those
// cells were computed from the tokens that have left, so the text drifts from what the model
// would write. Cells that several sequences share cannot be moved for one of them. Recurrent
// models and sliding windows cannot do it at all. And no other request may reuse such a prefix.
// Computed anew, the tokens that are left are an ordinary prompt: exact, shared and cached like
// any other, and chunked beside other answers. It costs one prompt token for each token
// generated, if half of the context leaves at a time. The sampler chain and plugins see the whole
// answer as before.
//
// # Why does the priority of a waiting request grow?
//
// With strict priorities a steady stream of urgent requests would keep all others waiting for
// ever. Here one step of priority counts as ten seconds of waiting. So a request passes those of
// one step less that came up to ten seconds before it, and no others. All requests age alike, so
// the order of two never changes and the sorted queue never needs sorting again. A priority above
// 0 is at the expense of others, so only keys that the operator lists may ask for it.
//
// # Why does each set of LoRA adapters have a forward pass of its own?
//
// llama.cpp sets adapters for a context, and so for a whole pass. A tick therefore computes the
// decode tokens set by set, and prompts of one set: that of the prompt which is first in line by
// the usual rules, which already keep any prompt from waiting forever. Where no prompt of that set
// gets cells, the next set has its turn: one of its prompts may take them from others. Every stream
// gets a token in every tick, whatever the others use. The scheduler sees adapters as an opaque
// key; where no request has one, it compares empty texts and does nothing else. Between two sets
// llama.cpp plans its graphs anew, which took 1 ms of a pass of 8 ms with the built-in model, and a
// few of 70 ms with a model of 135M parameters.
//
// # Why is room reserved before a request is built?
//
// 26 KB can ask for 16,384 answers, each with a sampler chain and a grammar. Looking whether
// there is room would not do: others may take it while the chains are built. What is reserved
// counts as waiting, and is given back if building fails.
//
// # How are the log-probabilities of a prompt computed?
//
// The row after a token says how likely the next one was, so each token of the prompt but the
// last needs a row. These are the decisions:
//
//   - Cached cells are not used. The KV cache keeps keys and values but no logits, and llama.cpp
//     cannot make a row of an old position without computing its token again. The API has no way
//     to say that only the rows of the end are wanted: a client such as lm-evaluation-harness
//     reads the end of the list, but it asks for all. So such a request begins at its first
//     token, and leaves cells that others can use. It does not wait for another's prefix either.
//     One that was preempted reuses its own cells as far as their rows were told, and is never
//     told anything twice.
//   - A pass has few rows for prompts: 32 more than there are slots, unless drafts have more. A
//     chunk of 512 tokens with a vocabulary of 150,000 would have 300 MB of logits, and
//     multiplying it with the output matrix would hold up every stream. 32 rows take 19 MB, and
//     32 tokens are what Penstock's kernels compute at nearly their full speed. On a GPU such
//     prompts take more passes than others; that is the price of smooth streams and a small
//     buffer.
//   - The tick reads the rows, on all processors. A row of 150,000 takes about a millisecond, so
//     32 rows take some milliseconds, a small part of the pass that made them. Reading them
//     later would mean copying them, since the next pass overwrites them, and that costs as much
//     memory as the limit saves.
//   - The last token of the prompt has a pass of its own. Its row is the one that the answer is
//     drawn from. So a pass either scores a prompt or samples its answer, the reader has all of
//     the prompt before the first token, and a request that wants no answer need not compute it.
//   - The estimator does not learn from these passes: their many rows take longer, and other
//     prompts would be given smaller chunks for it.
//
// # Why is the load looked up by the tick, at most every 50 ms?
//
// The books of the cache belong to the tick's goroutine, and a lock would make each tick pay for
// it. So a caller posts a command, which runs between two ticks, as with live frames; all callers
// within 50 ms get the same result. While a long pass computes, the last look is told after 20 ms,
// with its age: a router would rather have an old answer than wait. The digests of a conversation
// are kept with it and grow with it, so a look computes only those of new blocks, 128 at most. With
// 256 slots and 100,000 cells a look takes 0.3 ms (BenchmarkScheduler_Load); an answer with 1,024
// digests, 20 kB, takes 0.3 ms of another goroutine (BenchmarkAPI_Load).
package scheduler
