// SPDX-License-Identifier: MIT

package table

var (
	outPtr     = Value{Name: "ptr", Type: I32, Access: Write, List: Bytes}
	outTokens  = Value{Name: "ptr", Type: I32, Access: Write, List: Tokens}
	outNumbers = Value{Name: "ptr", Type: I32, Access: Write, List: Numbers}
	inPtr      = Value{Name: "ptr", Type: I32, Access: Read, List: Bytes}
	inText     = Value{Name: "text", Type: I32, Access: Read, List: Bytes}
	limit      = Value{Name: "limit", Type: I32}
	length     = Value{Name: "len", Type: I32}
	token      = Value{Name: "token", Type: I32}
	kind       = Value{Name: "kind", Type: I32}
	handle     = Value{Name: "handle", Type: I32}
)

func imports() []Func {
	all := append(requestImports(), meterImports()...)
	all = append(all, mediaImport())
	all = append(all, vocabularyImports()...)
	all = append(all, resultImports()...)
	all = append(all, grammarImports()...)
	return append(all, branchImports()...)
}

// requestImports return what the plugin was asked to do.
func requestImports() []Func {
	return []Func{
		{
			Name: "config", Params: []Value{outPtr, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc: "The request's configuration for this plugin: JSON that fits the manifest's schema, `{}` if the request gave none. " +
				"A property that the request leaves out has the schema's `default`, if there is one (feature `config_defaults`); so do properties of nested objects that the request or a default gives. Returns its length in bytes.",
			Worked: "The configuration has 300 bytes. `config(ptr, 256)` returns 300 and writes nothing; `config(ptr, 512)` returns 300 and writes 300 bytes.",
		},
		{
			Name: "messages", Params: []Value{outPtr, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc: "The conversation as JSON, for `penstock_template` and `penstock_messages`; empty in other exports. A plugin with `penstock_messages` and `penstock_filter` also gets it in `penstock_open` and all later calls of the answer, as its `penstock_messages` got it, so it can find again there what it has replaced; empty if the request has no messages. Returns its length in bytes. The content of a message with pictures or sounds is a list of parts, see *pictures and sounds*.",
		},
		{
			Name: "prompt", Added: true, Params: []Value{{Name: "messages", Type: I32, Access: Read, List: Bytes}, length, outPtr, limit}, Result: I32, Waits: true, Record: RecordWhole, Cost: Cost{Fixed: 100_000, Byte: 16, Wrote: true, More: "the messages that the plugin got count, too, where they are used"},
			Doc: "In `penstock_messages` and `penstock_template`, the prompt's text that the model's own template would make from messages, a JSON list like that of `messages`, with the request's tools and answer format; " +
				"with `len` = 0 from the messages that the plugin got. Returns its length in bytes. Returns −1, with the reason in the log, if the template refuses them, if they are not a list of messages or larger than `branch_messages_bytes`, and in other exports. " +
				"Two calls in a row with the same messages render the text once.",
			Worked: "The built-in model, and the messages `[{\"role\":\"user\",\"content\":\"Hi\"}]`: `prompt(0, 0, ptr, 0)` returns 52 and writes nothing, `prompt(0, 0, ptr, 52)` returns 52 and writes `<|im_start|>user`, a line break, `Hi<|im_end|>`, a line break, `<|im_start|>assistant` and a line break.",
		},
		{
			Name: "history", Params: []Value{{Name: "from", Type: I32}, outTokens, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc: "Token ids so far, prompt first, as `u32`, from index `from` on; a negative `from` counts back from the end. `limit` and the result count tokens, not bytes. " +
				"In `prepare` and `sample` the history holds all tokens accepted so far; in `accept` and `stop` it includes the token. A row of a picture or a sound is the *reserved token*.",
			Worked: "After a prompt of 12 tokens and 3 generated ones, `history(0, ptr, 64)` returns 15 and writes 60 bytes; `history(12, ptr, 64)` returns 3; `history(-1, ptr, 1)` returns 1 and writes the last; " +
				"`history(15, ptr, 64)` returns 0, as any later index does; `history(0, 0, 0)` only counts.",
		},
		{
			Name: "text", Added: true, Params: []Value{{Name: "from", Type: I32}, outPtr, limit}, Result: I32, Cost: Cost{Wrote: true, More: "1 for each 4 tokens of the answer"},
			Doc: "The answer's text so far, in UTF-8, from byte `from` on; a negative `from` counts back from the end. It is the text of the tokens of `history` after the prompt, as `piece` returns it, " +
				"so it is correct whatever was taken back, injected or spliced. An incomplete character is not in it, and bytes that cannot be a character are U+FFFD. " +
				"In `stop` it may be ahead of the text that `stop` was shown, if another plugin's `hold` keeps that back. Returns its length in bytes, from `from` on.",
			Worked: "The tokens of the answer are \"na\", the first byte of \"ï\", its second byte and \"ve\". `text(0, ptr, 64)` returns 2 after the second token, 4 after the third and 6 at the end; `text(-2, ptr, 64)` then returns 2 and writes \"ve\".",
		},
		{
			Name: "feature", Params: []Value{inPtr, length}, Result: I32, Cost: Cost{Read: true},
			Doc: "1 if the host has what the text names, else 0: an import, an export or a feature of this document, or of a later one. " +
				"A plugin asks before it uses anything that was added to v1 later; see *growth*.",
			Worked: "`feature(\"history\")` and `feature(\"penstock_rewind\")` are 1, so is `feature(\"sample_keep\")`; `feature(\"telepathy\")` is 0.",
		},
		{
			Name: "param", Params: []Value{kind}, Result: I64,
			Doc: "A number of the request, see *param kinds*; −1 for an unknown kind.",
		},
		{
			Name: "logprob", Added: true, Result: F32,
			Doc: "In `penstock_accept`, the natural logarithm of the probability that the model gave the accepted token: from the raw row, before masks, biases and samplers, as in a client's `logprobs`. " +
				"NaN if the token has no row of its own, because a client injected it, it came from a splice, or it follows the first of a forced run; and outside `penstock_accept`. " +
				"A plugin that imports it costs a copy of the row and a pass over it for each token of its answers.",
			Worked: "Of two tokens, with the logits 1 and 0, the second is accepted: −ln(1 + e), which is −1.3132617.",
		},
		{
			Name: "state", Added: true, Params: []Value{outNumbers, limit}, Result: I32, Record: RecordFitting, Cost: Cost{Wrote: true},
			Doc: "In `penstock_sample`, `penstock_accept` and `penstock_stop`, the hidden state behind the logits, as `f32`: the output of the model's last layer for the previous token, after the norm and before the projection to the vocabulary, or that of another layer, if the manifest's `state_layer` names one. " +
				"In `sample` it is the state of the row that is shown. In `accept` and `stop` it is the state of the row that the accepted token was drawn from, so after the first token it is that of the prompt's last. " +
				"`limit` and the result count numbers; for nearly all models there are `embedding_size` of `request`. " +
				"The result is 0 for tokens without a row of their own, as with `logprob`, and in other exports. " +
				"If a model's architecture returns no hidden states beside logits, a request with a plugin that imports this is refused with a 400 on `plugins`. It is computed only in passes with a row for such a plugin.",
			Worked: "A model with 192 numbers: `state(ptr, 64)` returns 192 and writes nothing; `state(ptr, 192)` returns 192 and writes 768 bytes; in `penstock_prepare` it returns 0. " +
				"If the output projection has no bias and its row for token 5 is w, the sum of state[i] × w[i] is the raw logit of token 5.",
		},
		{
			Name: "part", Added: true, Result: I32, Record: RecordFitting, Cost: Cost{Fixed: 5_000, More: "1 for each 4 tokens of the answer, and 16 × bytes of its text"},
			Doc: "The part of an answer to a conversation in which its text ends, see *parts*. The API splits answers in the same way. In `accept` and `stop` it is the part of the token, in `prepare` and `sample` the part of the last text; " +
				"a tag between two parts belongs to the part before it, until there is text after it. Before the first token it is the part that the prompt has opened. An answer to a prompt without messages is content.",
			Worked: "After the text `<think>Hm` it is 1, after `<think>Hm</think>` still 1, and after `<think>Hm</think>Hello` it is 0.",
		},
		{
			Name: "request", Added: true, Params: []Value{outPtr, limit}, Result: I32, Record: RecordWhole, Cost: Cost{Fixed: 2_000, Wrote: true},
			Doc: requestDoc,
		},
	}
}

// meterImports return what the plugin draws, and what it has used.
func meterImports() []Func {
	return []Func{
		{
			Name: "random", Result: I64,
			Doc: "64 random bits: a counter-based function of the seed, the plugin's place in the chain, the position and the number of the call at that position, see *random numbers*. A replay draws the same bits.",
		},
		{
			Name: "elapsed", Added: true, Result: I32, Record: RecordFitting,
			Doc: "How long ago the request arrived, in milliseconds, when the running call of an export began; in `penstock_run`, when its last wait was over. So it does not change within a call. −1 in `penstock_describe`, `penstock_warm` and `penstock_plan`, and where the host does not know. " +
				"A plugin that asks for it gives up that the same request with the same seed gets the same answer. A recording has what each call got, and a replay returns it, bit for bit. While an answer is replayed to a new instance (see `penstock_rewind`) it is the time of now, as in the calls that follow; what earlier instances got is not kept.",
			Worked: "A stop rule ends the answer at the end of a sentence if `elapsed` is above 10,000. In a recording the call has `{\"do\":\"elapsed\",\"answer\":10412}`.",
		},
		{
			Name: "fuel", Added: true, Result: I64,
			Doc:    "The fuel that is left of the running call of an export, in units; of `penstock_run`, what is left until the next wait. The call has been paid for. It is the same on every machine, so a plugin may decide by it, for example to stop a search, or an interpreter to end a script with an error of its own, before the host ends the call.",
			Worked: "Two calls of `fuel` in a row in `penstock_accept`: both results are below 20,000,000, and the second is smaller by the 128 units of the call and those of the instructions between them.",
		},
	}
}

const requestDoc = "The model and the request's sampling parameters: a JSON object with the objects `model` and `sampling`. Returns its length in bytes.\n\n" +
	"`model` has `name` (as in the API), `architecture` and `description` (from the model's file), `digest` (differs between models, and is the same for the same files in another process), `parameters` (their number), `size_bytes` (of the weights), " +
	"`vocabulary_size`, `context_train` (the longest context it was trained for), `embedding_size` and `layers`. Unknown members are left out, and a host without a model returns `{}`.\n\n" +
	"`sampling` has the request's effective sampling parameters under the names of a request's body, with the defaults filled in: `temperature`, `top_k`, `max_tokens`, `stop`, `logit_bias` and so on; " +
	"`samplers` is the chain in its order, plugins as `plugin:NAME`, and `grammar` says whether there is one (true or false). " +
	"A client may change them in the middle of an answer; the next call returns the new values. It is `{}` in `penstock_describe` and `penstock_warm`, where there is no request. A plugin must accept members that it does not know."

// vocabularyImports describe the model's tokens.
func vocabularyImports() []Func {
	return []Func{
		{Name: "vocab_size", Result: I32, Doc: "The number of tokens, n_vocab."},
		{
			Name: "piece", Params: []Value{token, outPtr, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc: "The bytes of a token, which need not be valid UTF-8 by themselves. Returns their number; −1 if there is no such token.",
		},
		{
			Name: "vocab", Params: []Value{outPtr, limit}, Result: I32, Long: true, Cost: Cost{Wrote: true},
			Doc:    "All pieces at once: `u32 offset[n_vocab+1]`, then the bytes. Piece i is the bytes from offset[i] up to offset[i+1], counted from the end of the offsets. Returns the length in bytes. Meant for `penstock_warm`.",
			Worked: "3 tokens \"a\", \"bc\", \"\": offsets 0, 1, 3, 3, then the bytes `abc`; 19 bytes in all.",
		},
		{
			Name: "token_attr", Params: []Value{token}, Result: I32,
			Doc: "The kind of a token, see *attribute bits*; −1 if there is no such token.",
		},
		{
			Name: "special", Params: []Value{kind}, Result: I32,
			Doc: "The id of a special token, see *special kinds*; −1 if the model has none.",
		},
		{
			Name: "tokenize", Result: I32, Long: true, Record: RecordWhole, Cost: Cost{Fixed: 10_000, Byte: 256, Wrote: true},
			Params: []Value{inText, length, {Name: "flags", Type: I32}, outTokens, limit},
			Doc:    "Token ids of a UTF-8 text, as `u32`. `limit` and the result count tokens. Flags are the *tokenize bits*; the result is −1 for an unknown bit and for a text of more than 64 KiB.",
		},
	}
}

// resultImports pass on what the plugin returns.
func resultImports() []Func {
	return []Func{
		{
			Name: "output", Added: true, Params: []Value{inPtr, length}, Result: I32, Record: RecordFitting, Cost: Cost{Fixed: 1_000, Byte: 16},
			Doc: "Gives the client a JSON value, in UTF-8 and at most 64 levels deep. It is sent with the answer, under the plugin's name and with the number of tokens that the answer had then. " +
				"0, or −1 if it is refused, with the reason in the log: if it is not a JSON value, exceeds `output_bytes` or `outputs`, or if the call is outside `penstock_open`, " +
				"`penstock_prepare`, `penstock_sample`, `penstock_accept`, `penstock_stop`, `penstock_filter`, `penstock_rewind` and `penstock_run`. It is refused in `penstock_close`, which is called after the answer has been sent, so that no answer waits for it. A value stays when tokens are taken back. " +
				"While the answer is replayed to a new instance (see `penstock_rewind`), values are dropped: the client has them already.",
			Worked: "A plugin \"count\" outputs `{\"seen\":3}` (10 bytes) when it accepts the third token: the client gets `{\"plugin\":\"count\",\"tokens\":3,\"value\":{\"seen\":3}}`.",
		},
		{
			Name: "note", Added: true, Params: []Value{inPtr, length}, Result: I32, Record: RecordWhole, Cost: Cost{Fixed: 1_000, Read: true},
			Doc: "Attaches a short text in UTF-8 to one token, for its trace: it is shown to clients that ask for `trace`, in the page's inspector and in recordings. In `penstock_prepare` and `penstock_sample` this is the token that is about to be chosen, in `penstock_accept` the accepted one, which keeps it if it is taken back. " +
				"0, also if nobody asks for traces, or −1 if it is refused, with the reason in the log: in other exports, if it is not UTF-8, or exceeds `note_bytes` or `notes`. While the answer is replayed to a new instance (see `penstock_rewind`), notes are dropped.",
			Worked: "A plugin \"banned\" takes the token ` there` back and calls `note` with \"banned: there\" (13 bytes): that token's trace, in `taken_back` of the token that replaces it, has `\"notes\":[{\"by\":\"plugin:banned\",\"text\":\"banned: there\"}]`.",
		},
		{
			Name: "bind", Params: []Value{kind, {Name: "ptr", Type: I32, Access: Keep, List: Bytes}, length}, Result: I32,
			Doc: "Gives the host a buffer (see *buffers*); `len` is in bytes. 0, or −1 if it is refused: outside `penstock_open`, an unknown kind, not 4-byte aligned, out of memory bounds, " +
				"too small, overlapping another, or already bound. The buffer must stay in place for the instance's life.",
		},
		{
			Name: "decline", Added: true, Params: []Value{inPtr, length}, Result: I32, Cost: Cost{Read: true},
			Doc: "Declines an export, named in full, for the rest of this request: the host goes on as if the plugin did not implement it, so a plugin that needs `penstock_sample` for some requests costs nothing in the others. " +
				"Buffers that only a declined export needs need not be bound. 0, also if the plugin does not implement the export or has declined it before. −1 if it is refused, with the reason in the log: " +
				"outside `penstock_open`, for an unknown name, and for what the request cannot do without: `penstock_run`, `penstock_template`, and what is called before or during `penstock_open`. " +
				"A new instance that takes the place of this one (see `penstock_rewind`) declines anew. What `hold` says stays in force.",
			Worked: "A plugin whose configuration has `\"active\": false` calls `decline` with \"penstock_sample\" (15 bytes) and with \"penstock_accept\": no row is copied for it, and it is told of no token.",
		},
		{
			Name: "hold", Added: true, Params: []Value{count}, Result: I32,
			Doc: "Says how many of the last tokens the plugin may take back in this request, n, in place of the manifest's `hold`, which is the most that n may be: the stream runs so far behind. The last call counts. " +
				"0, or −1 if it is refused, with the reason in the log: outside `penstock_open`, and for an n that is negative or larger than the manifest's. " +
				"A new instance that takes the place of this one (see `penstock_rewind`) says it anew.",
			Worked: "The manifest has `\"hold\": 24`. A configuration bans only one word, of at most three tokens: after `hold(3)` the client gets each token three tokens later, and a splice may take back up to three.",
		},
		{
			Name: "emit", Params: []Value{inPtr, length}, In: []string{"penstock_describe", "penstock_plan", "penstock_messages", "penstock_template", "penstock_filter"}, Cost: Cost{Read: true},
			Doc: "Appends to the result of `penstock_describe`, `penstock_plan`, `penstock_messages` or `penstock_template`. In any other export it is a fault.",
		},
		{
			Name: "fail", Params: []Value{inPtr, length}, Cost: Cost{Read: true},
			Doc: "Sets the text of the error for a non-zero answer that follows, or for a `describe` that emits nothing; the client sees it. The last call counts; at most 4 KiB are kept. " +
				"If the call of the export traps, exits or uses up its fuel afterwards, that is a fault with the cause `error` and this text (feature `fail_trap`). Where the call takes too long, the client is told the text, too. A text counts for the call in which it was set.",
			Worked: "An interpreter whose script throws an exception in `penstock_sample` calls `fail` with \"TypeError: x is null, line 3\" and executes `unreachable`: the client reads this text, and the fault does not count towards quarantine.",
		},
		{
			Name: "log", Params: []Value{{Name: "level", Type: I32}, inPtr, length}, Cost: Cost{Read: true},
			Doc: "A log line for the sender of the request, see *log levels*: the last lines are attached to a fault, and those that are about a token (see `note`) to its trace. The operator's log also has it if the operator enables that. Text beyond the request's log limit is cut.",
		},
	}
}

// grammarImports lend the host's grammar engine to a plugin.
func grammarImports() []Func {
	return append([]Func{
		{
			Name: "grammar_open", Params: []Value{kind, inPtr, length}, Result: I32, Long: true, Waits: true, Record: RecordFitting, Cost: Cost{Fixed: 100_000, Byte: 256, More: "for a text whose reading takes more, what it takes, read or refused, which the host bounds"},
			Doc: "Compiles a grammar of at most 256 KiB, see *grammar kinds*. Returns a handle ≥ 0, at most four per instance, or a negative number with the reason in the log. A grammar ends with its instance.",
		},
		{
			Name: "grammar_mask", Params: []Value{handle}, Result: I32, Long: true, Fills: "mask", In: []string{"penstock_prepare"}, Record: RecordFitting, Cost: Cost{Vocabulary: 16},
			Doc: "Fills the bound mask with the tokens that the grammar allows next, including an end token if the text may end. 0, or −1 for an unknown handle, an unbound mask, or a grammar that has become too ambiguous to follow. Allowed only in `penstock_prepare`; elsewhere a fault.",
		},
		{
			Name: "grammar_accept", Params: []Value{handle, token}, Result: I32, Long: true, Record: RecordFitting, Cost: Cost{Fixed: 2_000},
			Doc: "Advances the grammar by a token. 0, or −1 for a refused token or an unknown handle, and nothing changes. It cannot go back: if tokens may be taken back, do not export `penstock_rewind`, and all tokens are replayed to a new instance.",
		},
	}, addedGrammarImports()...)
}

// addedGrammarImports say how a text can be completed, and why a grammar is refused.
func addedGrammarImports() []Func {
	return []Func{
		{
			Name: "grammar_mask_within", Added: true, Params: []Value{handle, {Name: "tokens", Type: I32}}, Result: I32, Long: true, Fills: "mask", In: []string{"penstock_prepare"}, Record: RecordFitting, Cost: Cost{Vocabulary: 32},
			Doc: "Fills the bound mask as `grammar_mask` does, without the tokens after which the text cannot be completed with `tokens` tokens in all, the next one included. " +
				"An answer is therefore complete in time if each of its tokens is in such a mask and `tokens` is one less each time. If computing this would take too long, the mask may have fewer tokens, but never none. " +
				"Answers are the *within answers*. Allowed only in `penstock_prepare`; elsewhere a fault.",
			Worked: "With 5 tokens left after `{\"a\": `, a mask has `1` and `\"`, but not `[[[[`, which needs 5 more.",
		},
		{
			Name: "grammar_rest", Added: true, Params: []Value{handle}, Result: I32, Long: true, Record: RecordFitting, Cost: Cost{Fixed: 10_000},
			Doc: "An upper bound of the number of tokens that complete the text: the number that spell its shortest rest, and 0 if the text may end. Results below 0 are the *rest answers*.",
		},
		{
			Name: "grammar_reason", Added: true, Params: []Value{outPtr, limit}, Result: I32, Record: RecordFitting, Cost: Cost{Wrote: true},
			Doc: "Why the instance's last `grammar_open` was refused, as a sentence for the author of the grammar; for a JSON schema with the place as a JSON pointer. Empty if it was not refused. Returns its length in bytes.",
		},
	}
}

// mediaImport lists pictures and sounds.
func mediaImport() Func {
	return Func{
		Name: "media", Added: true, Params: []Value{outPtr, limit}, Result: I32, Cost: Cost{Wrote: true},
		Doc: "The pictures and sounds of the prompt, in their order there, as a JSON list; `[]` if there are none, or no request. Each is an object with `type` (`image` or `audio`), " +
			"`hash` (the SHA-256 of the file, in hexadecimal digits), `bytes` (of the file), `tokens` (how many tokens of the prompt it takes, with those that the model expects around it), `width` and `height` in pixels or `seconds`, " +
			"and `detail` if the client has set it. `at` is the index in `history` of the first of its tokens, when the answer begins. In `penstock_messages` and `penstock_template` the list has those of the conversation, each once, " +
			"with their marker as `text` instead of `at`. A plugin must accept members that it does not know. Returns its length in bytes. See *pictures and sounds*.",
		Worked: "A picture of 100 × 80 pixels after 9 tokens of text: `[{\"type\":\"image\",\"hash\":\"9f86d081…\",\"width\":100,\"height\":80,\"bytes\":1234,\"tokens\":14,\"at\":9}]`. If the model expects a token before a picture and one after it, `history(9, ptr, 14)` is that token, twelve times 0xFFFFFFFF, and the other.",
	}
}
