// SPDX-License-Identifier: MIT

// Package kvcache keeps the books of the KV cache: which sequence holds which tokens, what
// requests reuse of them, and what is evicted or saved to make room.
//
// A sequence outlives the request that filled it: it is the prefix cache until its cells are
// needed. Before it is evicted then, the archive may take a copy of it into RAM, which comes back
// when the conversation goes on. Copies take time, so each tick says how long it may copy.
//
// # Why do long prompts get sequences far from those that generate?
//
// Decoding is fastest when sequences are neighbours (see padding tokens). A long prompt between
// them would be a gap that each decode pass fills with a padding token, which looks at the whole
// prompt: a third more time. So a request with more than 256 tokens to compute takes a sequence
// from the far end.
//
// # Why are conversations archived in RAM?
//
// When another request needs the cells of a conversation, the next turn of that conversation
// would have to be computed from the start, which takes seconds if it is long. Copying its state
// out and back takes only as long as copying memory. A state that shares all its cells with
// another sequence is not copied, since it is still in the cache.
//
// Each archived state has its own pages from the operating system, which are returned when it is
// dropped. On Go's heap the garbage collector would let the archive grow to twice its size. The
// configured bound applies to those pages. The states have no checksum, as that would double the
// cost.
//
// # Which conversation leaves the archive first?
//
// First those that nobody continued, then the least recently used. A conversation counts as
// continued when a request's prompt began with the whole prompt of the one before. So prompts
// that are sent only once, however many, push out each other and no conversation. Continued
// conversations have this precedence in three quarters of the archive. Beyond that the oldest
// compete with the rest, so that finished conversations do not fill it forever. A request takes
// from an entry only what it has in common with it, so a long conversation is not copied back for
// the sake of its system prompt.
//
// # Why is a conversation copied over several ticks?
//
// All slots that generate wait while a tick copies, and the state of a long conversation can be a
// gigabyte. So the scheduler decides at once what is copied, and the bytes follow.
//
// Copies into the archive run beside the passes on a low-priority thread. Most of their time the
// operating system spends on new pages (46 MB took 25 to 140 ms, of which the copy itself took
// 5). This is safe where the cells lie in the computer's own memory and no pass moves them, so
// not on a GPU and not for recurrent layers. There, and when copying back from the archive, a
// tick copies for one millisecond, or 30 while no slot generates (longestIdleCopy in
// scheduler/tick.go). A request whose place is being prepared waits in the queue.
//
// A prefix that another sequence has is copied in each tick for as long as the tick before took
// to compute. The request waits for the copy and has so much less to compute, and for the others
// one or two tokens take at most twice as long. With one millisecond a tick, 2,000 tokens beside
// a stream arrived after 163 ms instead of 71 (135M).
//
// The shim avoids llama.cpp's own copy between two sequences. It queues whole buffers; by the
// time the next pass copies them, either sequence may hold something else. When another
// conversation was restored into the source first, its cells ended up under the prefix. Instead
// the shim has llama.cpp write and read a state of the wanted cells, with readers and writers
// that only note where the bytes are. Whatever would change or read one of the two sequences in
// between finishes the copy first.
//
// # Why are there checkpoints?
//
// A recurrent layer has one state for all that it has read, and a sliding window forgets. Such a
// sequence cannot be cut at any position, so a rewind of one token, a splice, or a turn that
// parts from the conversation would compute all of it again. A checkpoint is a copy of just that
// part (llama.cpp's partial state); the cells of full attention are cut as usual. A cut goes back
// to the last checkpoint before, and the tokens in between are ordinary pending tokens. A window
// needs none as long as it still holds what the position looks back at: llama.cpp keeps more
// cells than the window, and overwrites them late. The condition is that the first position held
// is at most n less the window, one position more than the arithmetic needs, because the one to
// spare may be overwritten while a state is copied.
//
// # When are checkpoints taken?
//
// Four tokens before the end of a prompt, because chat templates often write an answer's
// beginning down differently once it is over. Where a prompt was seen to part from others, or
// another request waits to share: so the second prompt with the same instructions makes the
// checkpoint from which all later ones go on. After every checkpoint_min_step tokens of a long
// prompt. And after every 32 tokens of an answer, of which older ones are dropped so that going
// back r tokens computes at most about r + 64 again: an answer of 4,000 tokens keeps about ten. A
// conversation has at most ctx_checkpoints of them, all together take at most cache_ram bytes,
// and a new one takes over the memory of one that is dropped, since new pages cost more than the
// copy (41 KB: 2 µs into memory that was used before, 47 µs into new pages,
// BenchmarkContext_SaveCheckpoint on a busy machine). Entries of the archive share them with the
// sequence that they were saved from, and files of slots contain them.
//
// # What do checkpoints cost?
//
// The copy is made between two passes, because the next pass changes what is copied. Taking them
// may take an eighth of the time of all passes, and no longer at once than 10 ms or a quarter of
// the tick's passes; what is due beyond that waits or is left out. A prompt computes its last
// four tokens in a pass of their own, as in llama-server. Other models pay nothing. Recurrent
// models could instead keep a state for each of the last few tokens (llama.cpp's n_rs_seq), but
// only some architectures do, the memory of all recurrent states grows by as many times from the
// start, and only tokens of the last pass can be taken back.
//
// # Why are conversations saved before their cells are needed?
//
// When each new request first waits until another conversation is saved, eight requests that
// arrive together start in eight ticks instead of one, and their prompts are computed one by one.
// That cost a tenth to a quarter of the throughput of short requests. So while fewer than half of
// the sequences are empty, unused conversations are saved ahead, beginning with the one that
// would leave next. A saved conversation stays in the cache and gives up its place at once when
// that is wanted. No request waits for such a copy unless it wants that very sequence, and any
// other copy cancels it. Copies made ahead may push others out of only a quarter of the archive.
//
// A request with a long prompt, or with no neighbour to decode with, goes to a place that is free
// at once. Any other request goes next to the slots that generate, even if it must wait for that
// place, since a gap between them slows every token of all of them.
//
// # Why does a request wait while another computes the same prefix?
//
// Eight answers to one prompt, or eight prompts with one long instruction, take eight times the
// work if they are computed side by side, and all of them take longer. So a request stays in the
// queue while a running one is computing a longer common prefix than the cache has (at least 32
// tokens), and then shares it. It is promised nothing: if the other ends, pauses or is preempted,
// it goes on by itself. Requests after it in the queue do not wait. SGLang does the same.
// cached_tokens of a request with `n` answers counts the first answer only, since what the others
// copied from that one is not a saving.
//
// # Why are blocks those of tokens, and not of text?
//
// The cache has tokens. A text does not tell how a template writes a conversation, which plugins
// change it, or where tokens begin, so equal texts may have unequal cells, and the digest of a
// text would have to be kept beside each conversation through rewinds, splices and shifts. A
// router without a tokenizer asks any replica for the digests of a chat
// (`/v1/chat/completions/input_tokens?digests=true`): the answer is exact, whatever makes the
// prompt, and takes a fraction of what one missed prefix costs. llm-d's precise scorer has a
// server of vLLM tokenise each prompt in the same way.
//
// # Why 64 tokens, and 8 bytes of SHA-256?
//
// vLLM's blocks of 16 tokens are what it allocates, and llm-d's guides set them to 64; here a
// cell is a token, and a prefix ends anywhere. With 64 a router misses at most 63 tokens of a
// prefix, and 100,000 cells have 1,600 digests, which are 30 kB of JSON. SHA-256 is in every
// language's library. Two prompts have the same 8 bytes by chance once in 10^19 pairs. Who makes
// such a pair, which takes some 2^32 tries, has gained nothing: his request goes to a replica
// that has to compute its prompt. Each digest includes the one before, as in vLLM and in the
// Inference Extension, so one look-up says whether all up to there is cached.
package kvcache
