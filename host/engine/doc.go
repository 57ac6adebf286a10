// SPDX-License-Identifier: MIT

// Package engine is a model loaded with llama.cpp: the scheduler's backend, the tokeniser and chat
// template, and the native samplers. It joins package native to the interfaces of scheduler,
// host/chat and host/sampling.
//
// # Why is a token computed before the first request?
//
// It shows which kernels compute, and it reads the weights from disk so that the first request
// does not wait for them.
//
// # Why does a small model get few threads?
//
// With less than 16 MiB of weights to read, a thread spends more time at barriers than at work.
// The other cores stay free for sampling, plugins and HTTP. model.threads overrides the choice.
//
// # Why is a chat template analysed once?
//
// To find out what a template can do, llama.cpp renders it dozens of times, anew for each
// conversation. The result depends only on the template, but chat.cpp gives no way to keep it.
// native/llama.cpp/analysis.h, which is included before that file, has it ask a cache of the
// template instead. A conversation then takes 1 to 2 ms. A test renders all templates in
// llama.cpp's tree beside llama-server.
//
// # Why is an answer parsed again and again, and what does that cost?
//
// llama.cpp's parsers read a text from its beginning and keep nothing between two calls. They
// need half a millisecond for 10,000 tokens, so parsing at each token would take seconds in all.
// The reader of an answer (host/chat/splitter.go) rests after each parse for fifteen times as long
// as it took, or longer if there are many answers: a parser has no more than a sixteenth of a
// core, all together a quarter, and text is held back by some milliseconds, on a busy machine by
// a fifth of a second at most. An answer that can only be text, because its template knows no
// reasoning and the request has neither tools nor a schema, has no parser. The tick never parses.
//
// # Why is text that breaks its format sent as content?
//
// llama-server answers 500 there, and a client loses what the model wrote. A small model that was
// cut off, or confused by a grammar, is no fault of the server.
//
// # What does a grammar cost other answers?
//
// Under a grammar most tokens are drawn as without one, and the drawn token is then tested, which
// takes about a microsecond: over 128,256 tokens and a schema of 200 properties, 27 µs in place of
// 23. If the token does not fit, the samplers choose again among those that the grammar's mask
// leaves. Masks are kept by state, so most often that is a copy: 33 µs at the median for a model
// that never writes what the schema wants. The rows of a pass are drawn in parallel. A grammar can
// still be so ambiguous that a token takes tens of milliseconds, and the first mask of a large
// schema may take some. So the tick gives a test or a mask a thousand steps, which is a quarter of
// a millisecond at most, and where those do not suffice the answer gets a background sampler, like
// one with plugins. It draws that token from the same row, with the choice that the samplers have
// made already, so the text does not depend on it. A schema that is new to the server is slow once
// in most answers, where a free string begins, and its other tokens are quick. To leave those to a
// background sampler, too, would cost a copy of each row and a mask beside each pass, whose threads
// would wait for that processor. So the tick draws them again at once, and only an answer that is
// slow again and again stays with its background sampler for longer, which then makes its masks
// beside the forward pass. Steps are counted, not measured: a busy machine would move answers
// about. Nor does the tick wait for a lock that a background sampler holds while it takes long.
//
// # Why are forced runs drafts?
//
// Where a grammar leaves one text alone, such as the rest of a name, its tokens could be put into
// the answer without a pass. But a model may write the same text in other tokens, and an answer
// that was forced into tokens which it would not have chosen goes on worse: LLGuidance found that
// 97% of naive runs are not what the tokeniser makes of the whole text. So the text is tokenised,
// last tokens that a longer one could replace are dropped, and the rest is a draft
// (scheduler/speculate.go, host/engine/following.go): one pass checks it, and the answer is the
// same, greedy or sampled. What drafts may cost bounds these as well, with a chance of their own
// that they are right, and where what the drafter has found in the text promises more tokens, that
// is taken. To look for such text counts as a cost, too, and is left out while it would take more
// of an answer's time than drafts may lose: with a small model, whose pass is as short as the look
// at a new state is long.
//
// # How much memory may grammars take?
//
// 256 MiB together (grammar.Memory). What counts is what the collector has not freed: a grammar
// that was dropped from those kept still lies in memory as long as an answer or a plugin follows
// it, and counting those that use it by hand would have to be right in each of them. States are
// forgotten and found again, so answers never fail for want of room for them; rules and
// expressions cannot be, and half of the memory bounds them.
//
// # Why does Penstock find the triggers of lazy grammars itself?
//
// llama.cpp searches the whole answer with `std::regex` after each token. That recurses at each
// character, so a long answer can overflow the stack, and a bad pattern takes exponential time.
// Words, which is what templates use, are searched for in the new text alone. Patterns are Go's,
// which take linear time and have a bound on their size; an answer with one has a background
// sampler. What wakes the grammar, and with which part of the text it begins, is as in llama.cpp. A
// test compares random requests with llama-server, token by token.
//
// # Why is the budget for reasoning not a llama.cpp sampler?
//
// It must stay right when tokens are taken back, injected or spliced, and when a client changes
// it in the middle of an answer. So it follows the tokens of the answer and can be told all of
// them again. A forced token is not drawn: the row is not looked at. Beside plugins it is a stage
// of its own, before them.
//
// # Why does a pass contain padding tokens?
//
// If sequences have their own cells, llama.cpp computes them in one pass only if their numbers
// are consecutive. Its kernels also compute rows in groups of four, so that 7 rows take longer
// than 8 (ours take rows one by one). In a pass that only decodes, the engine therefore adds one
// padding token for each idle sequence in between, and removes it after the pass. It also places
// requests in neighbouring sequences, so this is rare.
//
// # Why does the engine choose a request's sequence?
//
// Which sequences are computed well together is a property of the kernels. So scheduler/kvcache
// only says which sequences may be taken and which requests run, and the memory chooses
// (kvcache.Placer, implemented in host/engine/layout.go). On a GPU, or while nothing runs, the
// books take an empty sequence, or else the least recently used one.
//
// # Why do prompts get a pass of their own on the CPU?
//
// If sequences have their own cells, llama.cpp splits a mixed batch itself, and in worse places:
// first one token of each sequence, then the rest of the prompt. With shared cells, the tick is
// one pass.
//
// # How do recurrent and hybrid models drop wrong guesses?
//
// Their memory is one state, from which the last tokens cannot be taken away. For some
// architectures (LFM2, Qwen 3.5, Nemotron-H, Kimi K3 and others) llama.cpp can keep the states
// before the last tokens of a pass (n_rs_seq), each in as much memory as the state. There drafts
// have up to eight tokens, `--spec-draft-n-max` if that is fewer, and the dry run counts the
// states; where the memory is too small, they are given up before context or slots. Going back
// works once, and until the next pass: that one may move a state to another cell, and leaves the
// earlier ones where they were. host/engine/state.go knows what can be dropped, and nothing is
// shared from a sequence that has gone back and not gone on. For the same reason all tokens of a
// pass with drafts are of slots that have as many: llama.cpp computes others in parts, of which a
// later one could move the states of an earlier one. Of the architectures that are recurrent in
// all layers, such as Mamba and RWKV, llama.cpp keeps no earlier states; their answers are not
// drafted, and the log says so. A sliding window needs none of this: the pass overwrites only
// cells that the token before the guesses does not see either.
//
// # Why can a request not choose a control vector?
//
// llama.cpp keeps one in each context. Another scale means copying all its numbers and planning
// the graphs anew. Adapters do what requests need.
package engine
