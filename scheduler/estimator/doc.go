// SPDX-License-Identifier: MIT

// Package estimator predicts how long a forward pass takes, and chooses from that how many prompt
// tokens and drafted tokens a tick computes.
//
// A tick without prompts may compute drafted tokens: drafts.go chooses how many. This is how the
// others choose:
//
// The prompt tokens that a tick computes are its chunk, whether they are of one prompt or of
// several. A larger chunk computes prompts faster, and the slots that generate wait longer for
// their next token. The default rule, DecodeMaximal, is this: of the chunks with which the tick
// stays within the target, take the one with the largest
//
//	n^s / t · e
//
// where n is the chunk, t the estimated duration of the tick, and s the share of the tick's time
// that prompts should get. s is 0.5 while any slot generates, or 0.45 where one pass computes
// both. (Where t is a + b·n, the largest n^s/t is where b·n, the prompt's part, is s·t.) e is the
// efficiency of the tick: how long its tokens would take at the lowest cost a token that any size
// of chunk has, divided by t. It matters because a token may cost more in a chunk of 64 than in
// one of 16 or of 512. In one pass, and while no slot generates, e is 1. Whatever the target,
// prompts get a least share of the tick's time: Demand.MinShare, and more where many short prompts
// wait.
//
// While no slot generates there is no target, and the strategy is not asked: s is 0.95, of chunks
// that have at most 512 tokens or take at most 100 ms. If slots of another model on the same
// machine generate, the target holds for these chunks, too.
//
// The estimate comes from the passes so far. So that it is right for sizes that are not in use, a
// size that was never measured is tried once, and now and then a tick takes the size next to the
// best one.
//
// # Why are the costs of decoding and of prefill learned separately?
//
// Each decode token needs a row of logits, which with a large vocabulary is half of its cost in a
// small model; a prompt token needs none. With one estimate for both, 16 streams and a chunk of
// 16 tokens would spoil each other's numbers.
//
// # Why is the chunk chosen by n^s/t · e?
//
// A fixed part of the measured time would stop prompts where the smallest pass takes longer than
// that. e keeps away from sizes whose kernels are slow. It counts only where prompts have a pass of
// their own: in one pass larger chunks always seem the more efficient ones, and the target was
// missed. While no slot generates, s of 0.95 gives a twentieth less than the best rate, and the
// chunk is bounded, since new requests wait for the end of the tick.
//
// # Why is a size next to the best one tried now and then?
//
// What a size costs is known from passes of that size. If its first pass was disturbed, it looks
// expensive, is never chosen again and so never known better. Measured, streams went on with
// chunks of 8 tokens where 16 had twice the prompts' rate. What a cell costs is taken from the
// nearest size that has run at depth. A size is tried only if the estimate keeps the target:
// where kernels differ by size, a smaller chunk may take longer.
//
// # Why is s smaller where one pass computes both?
//
// There the decode tokens have paid for the fixed cost of the pass, so a larger chunk looks
// cheap. With 4 streams and 2 long prompts on the simulated GPU, the old rule had a p99 ITL of 14
// ms and 5,100 prompt tokens/s; `s` of 0.6 has 25 ms and 8,600, 0.45 has 19 ms and 6,800, 0.4 has
// 16 ms and 6,200. On two cores in one pass 0.45 loses up to 8% of the old rule's prompt tokens/s
// with a p99 ITL up to 15% lower, and 0.4 loses up to 11%.
//
// # Is the plan right for a GPU?
//
// No GPU was available, so it is tried on virtual time, with the costs that follow from the
// published figures of an H100 and of Llama 3 with 8B and 70B parameters: schedulertest.Device,
// scheduler/latency_test.go. With 8 to 192 streams beside clients with prompts of 1,500 to 2,500
// tokens, and with 4 streams of 100,000 tokens beside prompts of 60,000 to 100,000, the p99 ITL
// is within 1.3 × targets of 25 to 150 ms. The machine is used to 1.01 to 1.60: it computes
// prompts while it reads the weights for the answers, which either alone would not.
package estimator
