// SPDX-License-Identifier: MIT

package table

import "slices"

var (
	branch   = Value{Name: "branch", Type: I32}
	count    = Value{Name: "n", Type: I32}
	from     = Value{Name: "from", Type: I32}
	flags    = Value{Name: "flags", Type: I32}
	inTokens = Value{Name: "tokens", Type: I32, Access: Read, List: Tokens, Len: "n"}
)

// runExport is the export of a plugin that is a program.
func runExport() Func {
	return Func{
		Name: "penstock_run", Result: I32, Optional: true, When: "once, after `penstock_open`, in place of all calls for a token", Fuel: hookFuel,
		Doc: "A program that owns the request (feature `branches`). It opens branches, which are lists of tokens in the KV cache, waits for the model's rows after them, and shows tokens to the client. " +
			"The functions `branch_…`, `branches_wait`, `chain_open`, `show` and `adopt` do this; they are allowed in no other export. Branches of one program share their common beginning. All branches that are waited for are computed in one forward pass, together with other answers. " +
			"0 ends the answer with what was shown; before anything else give the reason to `fail`. " +
			"The limits of fuel and time apply to the code between two waits: each row that a wait brings adds one more `hook_fuel`, up to one for each branch and one, and the time starts again. " +
			"A plugin with this export has none of `penstock_prepare`, `penstock_sample`, `penstock_accept`, `penstock_stop`, `penstock_filter` and `penstock_rewind`, and its manifest names how many `branches` it needs. A request has one such plugin, which writes all of its choices.",
	}
}

// branchImports control the branches of a program. All but show change the program's own view of
// the branches at once; the model computes the change at the next wait.
func branchImports() []Func {
	all := slices.Concat(tokensOfBranches(), rowsOfBranches(), drawsOfBranches(), answersOfPrograms())
	for i := range all {
		all[i].In, all[i].Record = []string{"penstock_run"}, RecordFitting
	}
	return all
}

// tokensOfBranches open and close branches, and change their tokens.
func tokensOfBranches() []Func {
	return []Func{
		{
			Name: "branch_open", Added: true, Params: []Value{inTokens, count}, Result: I32, Cost: Cost{Fixed: 1_000, Read: true},
			Doc:    "Opens a branch with n tokens, as `u32`; with n = 0 with the request's prompt. Returns a handle ≥ 0, or one of the *branch answers*.",
			Worked: "The first `branch_open(0, 0)` returns 0, and the next branch is 1: handles are never reused.",
		},
		{
			Name: "branch_fork", Added: true, Params: []Value{branch}, Result: I32, Cost: Cost{Fixed: 1_000, More: "bytes of the tokens / 16"},
			Doc: "Opens a branch with the tokens, the scores and the row of another. Returns a handle ≥ 0, or one of the *branch answers*. Nothing is computed twice, whether or not the other branch has been computed.",
		},
		{
			Name: "branch_close", Added: true, Params: []Value{branch}, Result: I32,
			Doc: "Closes a branch and returns 0. Its place is free at once. A fork right after it is cheapest, because it takes over the closed branch's cells.",
		},
		{
			Name: "branch_cut", Added: true, Params: []Value{branch, length}, Result: I32,
			Doc: "Keeps the first `len` tokens of a branch, at least one, and returns 0. Cutting inside a picture or a sound is a fault.",
		},
		{
			Name: "branch_append", Added: true, Params: []Value{branch, inTokens, count, flags}, Result: I32, Cost: Cost{Read: true, More: "2,000 for each token after `branch_grammar`"},
			Doc: "Appends n tokens, as `u32`, and returns how many the branch has then, or one of the *branch answers*. Flags are the *append bits*.",
		},
		{
			Name: "branch_tokens", Added: true, Params: []Value{branch, from, outTokens, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc: "The tokens of a branch, its prompt included, from index `from` on, as `history` returns them.",
		},
		{
			Name: "branches_wait", Added: true, Params: []Value{{Name: "list", Type: I32, Access: Update, List: Handles, Most: "branches"}, count, {Name: "k", Type: I32}, flags}, Result: I32, Waits: true, Cost: Cost{Fixed: 20_000, Read: true, More: "n_vocab for each row that is ready and in which fewer than k candidates were found"},
			Doc: "Waits until the model has computed n branches, whose handles are at `list` as `u32`: all of them or, with the *wait bit*, any. Returns how many have their row, and moves those to the beginning of the list, in the order given. " +
				"k is how many candidates `branch_candidates` will be asked for, at most 4,096. What was shown until now is sent. With n = 0 it only does that. " +
				"If no token was appended to a branch since it was forked or cut, its row counts as a token that is put into it: if that is one too many, the result is −3.",
			Worked: "The list is 0, 2. With the bit 1, if only branch 2 is ready, `list` is 2, 0 afterwards and the result is 1.",
		},
	}
}

// rowsOfBranches read and change the model's row after a branch.
func rowsOfBranches() []Func {
	return []Func{
		{
			Name: "branch_candidates", Added: true, Params: []Value{branch, {Name: "k", Type: I32}, {Name: "ptr", Type: I32, Access: Write, List: Candidates, Len: "k", Most: "candidates"}}, Result: I32, Cost: Cost{Per: "k", Each: 16, More: "n_vocab if fewer than k were found in the row before"},
			Doc: "The model's prediction after a branch: `f32` log-sum-exp of the logits, `f32` entropy in nats, `u32 id[k]`, `f32 logit[k]`, best first. The result is how many of the k there are, since some may be impossible. " +
				"A log-probability is a logit minus the log-sum-exp. k may be 0. The logits are the model's own, before any sampler.",
			Worked: "k = 2: the sum at 0, the entropy at 4, ids at 8 and 12, logits at 16 and 20.",
		},
		{
			Name: "branch_logits", Added: true, Params: []Value{branch, outNumbers, limit}, Result: I32, Cost: Cost{Wrote: true, More: "n_vocab / 4"},
			Doc: "The whole row after a branch, an `f32` for each token. `limit` and the result count tokens; nothing is written if the row does not fit.",
		},
		{
			Name: "branch_hidden_state", Added: true, Params: []Value{branch, outNumbers, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc: "The hidden state after a branch that has its row, an `f32` for each number, as `state` gives it in other plugins: the output of the model's last layer for the branch's last token, after the norm and before the projection to the vocabulary, or that of the layer that `state_layer` names. " +
				"It is that of the model's own row, whatever `branch_mask` and `branch_mix` did to it, and a fork has that of its branch. `limit` and the result count numbers; nothing is written if they do not fit. The result is 0 on a host that has no model, and if the plan does not name `hidden_state` in `needs`. " +
				"If a model's architecture returns no hidden states beside logits, a request with a program that imports this is refused with a 400 on `plugins`. It is computed only in passes with a row for such a program.",
			Worked: "A model with 192 numbers: after a wait, `branch_hidden_state(b, ptr, 64)` returns 192 and writes nothing, and with 192 it writes 768 bytes. After `branch_append` the branch has no row, so the call is a fault.",
		},
		{
			Name: "branch_scores", Added: true, Params: []Value{branch, from, outNumbers, limit}, Result: I32, Cost: Cost{Wrote: true, More: "bytes of the branch's tokens / 16"},
			Doc: "The log-probabilities of a branch's tokens from index `from` on, an `f32` each, given all tokens before them; NaN for those that were not appended with the *append bit*. `limit` and the result count tokens.",
		},
		{
			Name: "branch_open_messages", Added: true, Params: []Value{inText, length}, Result: I32, Waits: true, Cost: Cost{Fixed: 100_000, Byte: 16},
			Doc: "Opens a branch with the prompt that the model's template makes from messages: a JSON list like that of `messages`, after which the assistant answers. Pictures and sounds of the request are named by their hashes. The request's tools and template plugins are not used. " +
				"It may take long; this does not count as the plugin's time. Returns a handle ≥ 0, or one of the *branch answers*: −5 if the template refuses the messages.",
			Worked: "`[{\"role\":\"user\",\"content\":\"Hi\"}]` has 34 bytes. With ChatML's template the branch reads `<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n`.",
		},
		{
			Name: "branch_mask", Added: true, Params: []Value{branch, {Name: "words", Type: I32, Access: Read, List: Words}, count}, Result: I32, Cost: Cost{Fixed: 1_000, Vocabulary: 1},
			Doc: "Makes tokens impossible in the row after a branch. The words are like those of the mask buffer: if bit i mod 32 of word i / 32 is set, token i stays. n is (n_vocab + 31) / 32, rounded down. " +
				"From then on the branch's candidates, logits, log-sum-exp and draws are those of the row without these tokens; a second mask removes more. It applies to this row, and to the rows of forks that are made afterwards: the next row is the model's own. Returns 0.",
			Worked: "With three tokens whose logits are 0, 1 and 2, the word 3 leaves the first two: the log-sum-exp was ln(1 + e + e²) = 2.4076, and is ln(1 + e) = 1.3133.",
		},
		{
			Name: "branch_mix", Added: true, Params: []Value{branch, {Name: "list", Type: I32, Access: Read, List: Pairs, Most: "branches"}, count}, Result: I32, Cost: Cost{Fixed: 1_000, Per: "n", Vocabulary: 1},
			Doc: "Replaces the row after a branch by a weighted sum of rows: n entries, each a `u32` branch, which has a row, and an `f32` weight, which is finite. n is from 1 to 64; the branch itself may be among them. " +
				"A token that is impossible in a row whose weight is not 0 is impossible in the sum. It applies as long as a mask does. Returns 0.",
			Worked: "Guidance with the scale 1.5: with the entries (b, 1.5) and (without, −0.5), a token with the logits 2 and 1 gets 2 × 1.5 − 1 × 0.5 = 2.5.",
		},
		{
			Name: "branch_grammar", Added: true, Params: []Value{branch, {Name: "grammar", Type: I32}}, Result: I32, Cost: Cost{Fixed: 2_000, Vocabulary: 16, More: "later 16 × n_vocab for each row that a wait brings, and 2,000 for each token that is appended"},
			Doc: "Constrains a branch to a grammar of `grammar_open` from here on. The grammar starts at its beginning, whatever `grammar_accept` did to it. −1 in its place ends that. Candidates, logits, draws and runs only have tokens that it allows, including an end token if the text may end. " +
				"A fork continues the grammar from where the branch is. A cut goes back in the grammar; if it goes back to before the place where the grammar began, the grammar begins with the next token. Tokens that are appended must fit. Tokens that the row after the branch has already lost stay lost. Returns 0, or −4 if the host has no grammars for branches. If the grammar becomes too ambiguous to follow, that is a fault.",
			Worked: "After `root ::= \"ab\"` the candidates are tokens such as `a` and `ab`; after `a` was appended, the only one is `b`, and after that an end token.",
		},
	}
}

// drawsOfBranches draw tokens, and let the host continue branches by itself.
func drawsOfBranches() []Func {
	return []Func{
		{
			Name: "chain_open", Added: true, Params: []Value{inText, length}, Result: I32, Long: true, Cost: Cost{Fixed: 20_000, Byte: 16},
			Doc: "Opens a sampler chain with the request's sampling parameters. A JSON object of at most 64 KiB changes some of them, under their names in a request's body: `temperature`, `top_k`, `top_p`, `min_p`, `samplers`, `logit_bias`, penalties and so on, but not fields that constrain the answer's form, plugins and the seed. " +
				"Returns a handle from 1 on, at most 64; 0 is the request's own chain, with its grammar, without its plugins. Returns −5 if a parameter is wrong; `branch_reason` says which.",
			Worked: "The first `chain_open` of `{\"temperature\":1.5}` (19 bytes) returns 1.",
		},
		{
			Name: "branch_sample", Added: true, Params: []Value{branch, {Name: "chain", Type: I32}}, Result: I32, Long: true, Cost: Cost{Fixed: 1_000, Vocabulary: 1},
			Doc: "Draws a token from the row after a branch with a chain. Returns the token, which is not appended, or one of the *branch answers*: −6 if none is possible. Samplers that count tokens, such as penalties, count those of the branch. " +
				"Each branch has its own generator for each chain, whose seed is the lower 32 bits of the first draw of `random` at position 2³³ + 2¹⁶ × chain + the branch's handle. A branch's draws therefore do not depend on other branches; two draws from one row differ.",
			Worked: "With `{\"temperature\":0}` the result is the first of `branch_candidates`.",
		},
		{
			Name: "branch_run", Added: true, Params: []Value{branch, {Name: "chain", Type: I32}, count, flags}, Result: I32, Long: true, Cost: Cost{Fixed: 1_000, More: "n_vocab if the branch has its row"},
			Doc: "Lets the host continue a branch without the plugin: from the next wait on, n tokens are drawn with the chain and appended. There are fewer if an end token or a stop token of the request is drawn, which is not appended, or if the branch's room or the program's budget of tokens is used up. `branches_wait` waits for the end of the run, and counts it as a row that was brought; `branch_state` says how it ended. " +
				"Until then the branch may only be waited for and closed: any other call with it is a fault. Flags are the *append bits*. Returns 0, or one of the *branch answers* if there is no room for one token.",
			Worked: "`branch_run(0, 0, 12, 0)` and a wait: the branch has 12 more tokens and the state 3, or 5 more tokens and the state 4, because the sixth was an end token.",
		},
		{
			Name: "branch_state", Added: true, Params: []Value{branch}, Result: I32,
			Doc:    "The state of a branch after the last wait and the calls since: one of the *branch states*.",
			Worked: "The state is 0 after a branch was opened, 1 after a wait for it, and 0 again after a token was appended.",
		},
		{
			Name: "branch_reason", Added: true, Params: []Value{outPtr, limit}, Result: I32, Cost: Cost{Wrote: true},
			Doc:    "Why the last call returned −4 or −5, as a sentence in UTF-8; empty if no call did. Returns its length in bytes.",
			Worked: "After `chain_open` of `{\"temperature\":-1}` the reason begins with `temperature`.",
		},
	}
}

// answersOfPrograms decide what clients are shown.
func answersOfPrograms() []Func {
	return []Func{
		{
			Name: "show", Added: true, Params: []Value{{Name: "choice", Type: I32}, inTokens, {Name: "logs", Type: I32, Access: Read, List: Numbers, Null: true}, count}, Result: I32, Cost: Cost{Read: true},
			Doc: "Shows the client n tokens, as `u32`, of a choice. Choices are numbered from 0; `param` returns how many there are, the request's `n`. `logs` is 0, or the address of the tokens' log-probabilities, an `f32` each. The tokens count as chosen: stop strings, limits and end tokens apply to them, and other plugins are told about them. " +
				"Returns 0, or 1 if the choice had already ended at the last wait: then the tokens are dropped. When all choices have ended, so does the program.",
			Worked: "With `n` = 2, `show(1, ptr, 0, 3)` shows three tokens of the second choice; `show(2, ptr, 0, 3)` is a fault.",
		},
		{
			Name: "adopt", Added: true, Params: []Value{{Name: "choice", Type: I32}, branch, from}, Result: I32, Cost: Cost{More: "bytes of the branch's tokens / 16"},
			Doc: "Lets a choice continue from a branch, as it is now, when the program has returned 0: as an ordinary answer with the request's own chain and all of its other plugins. The branch's first `from` tokens, at least one, are the prompt, and the others are shown as injected tokens. " +
				"If something of the choice was already shown, the branch must begin with the request's prompt, of length `from`, followed by what was shown. Otherwise the prompt may be any. Returns 0. A choice is adopted once. Closing the branch afterwards changes nothing.",
			Worked: "A prompt of 10 tokens ends inside a word: with a branch of its first 9 and two that complete it, `adopt(0, b, 9)` shows these two, and the answer goes on after them.",
		},
	}
}

// branchGroups are the codes that these functions take and return.
func branchGroups() []Group {
	return []Group{
		{
			Prefix: "branch", Title: "branch answers", Doc: "Errors that a correct program may get. Anything else that is wrong, such as a closed branch, a token that does not exist or a row that was not waited for, is a fault.",
			Constants: []Constant{
				{"none_free", -1, "as many are open as the program may have, or 65,536 were"},
				{"context_full", -2, "the branch has no room for so many tokens"},
				{"budget", -3, "the program has put as many tokens into branches as it may, counting rows without a new token: the prompt once, and for each branch the prompt once more, max_tokens and 256"},
				{"cannot", -4, "the model, or this host, cannot do it: see `branch_reason`"},
				{"refused", -5, "the JSON, the messages or the grammar cannot be used: see `branch_reason`"},
				{"no_token", -6, "no token is possible after the branch"},
			},
		},
		{Prefix: "append", Title: "append bit", Doc: "Flags of `branch_append` and `branch_run`.", Constants: []Constant{{"scored", 1, "keep the tokens' log-probabilities for `branch_scores`"}}},
		{
			Prefix: "state", Title: "branch states", Doc: "Results of `branch_state`. After the end of a run the branch can be waited for again, which computes its row.",
			Constants: []Constant{
				{"pending", 0, "it has no row: wait for it"},
				{"ready", 1, "it has its row"},
				{"running", 2, "the host continues it after `branch_run`: wait for it"},
				{"ran", 3, "a run has reached its number of tokens, or there was no room for more; the branch has no row"},
				{"ended", 4, "a run has drawn an end token or a stop token, which was not appended; the branch has the row from which it was drawn"},
				{"stuck", 5, "a run has reached a point where no token is possible; the branch has its row"},
			},
		},
		{Prefix: "wait", Title: "wait bit", Doc: "Flags of `branches_wait`.", Constants: []Constant{{"any", 1, "one row is enough"}}},
	}
}
