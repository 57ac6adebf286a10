// SPDX-License-Identifier: MIT

package table

import "slices"

var (
	branch   = Value{Name: "branch", Type: I32}
	count    = Value{Name: "n", Type: I32}
	from     = Value{Name: "from", Type: I32}
	flags    = Value{Name: "flags", Type: I32}
	inTokens = Value{Name: "tokens", Type: I32, Access: Read}
)

// runExport is a plugin's own program.
func runExport() Func {
	return Func{
		Name: "penstock_run", Result: I32, Optional: true, When: "once, after `penstock_open`, in place of all calls for a token", Fuel: hookFuel,
		Doc: "A program that owns the request (feature `branches`). It opens branches, which are lists of tokens in the KV cache, waits for what the model says after them, and shows the client tokens: " +
			"the functions `branch_…`, `branches_wait`, `chain_open`, `show` and `adopt`, which are allowed nowhere else. Branches of one program share what they have in common. All that are waited for are computed in one forward pass, with everybody else's. " +
			"0 ends the answer with what was shown; for anything else give the reason to `fail` before. " +
			"Fuel and time are those of a call between two waits: each row that a wait brings adds one more `hook_fuel`, up to one for each branch and one, and the time begins anew. " +
			"A plugin with it has none of `penstock_prepare`, `penstock_sample`, `penstock_accept`, `penstock_stop` and `penstock_rewind`, and its manifest names how many `branches` it needs. A request has one such plugin, which writes all of its choices.",
	}
}

// branchImports drive the branches of a program. All but show change the program's own view of
// them at once; the model learns of it with the next wait.
func branchImports() []Func {
	return slices.Concat(tokensOfBranches(), rowsOfBranches(), drawsOfBranches(), answersOfPrograms())
}

// tokensOfBranches open and close branches, and change their tokens.
func tokensOfBranches() []Func {
	return []Func{
		{
			Name: "branch_open", Added: true, Params: []Value{inTokens, count}, Result: I32, Fuel: "1,000, and bytes / 16",
			Doc:    "Begins a branch with n tokens, as `u32`; with n = 0 it is the request's prompt. A handle ≥ 0, or one of the *branch answers*.",
			Worked: "`branch_open(0, 0)` is 0 at first, and the next branch is 1: no handle is used again.",
		},
		{
			Name: "branch_fork", Added: true, Params: []Value{branch}, Result: I32, Fuel: "1,000",
			Doc: "Begins a branch with the tokens of another, its scores and its row. A handle ≥ 0, or one of the *branch answers*. Nothing is computed twice, whether or not the other was computed yet.",
		},
		{
			Name: "branch_close", Added: true, Params: []Value{branch}, Result: I32,
			Doc: "Ends a branch: 0. Another may have its place at once. A fork after it is cheapest, as it takes the closed one's cells.",
		},
		{
			Name: "branch_cut", Added: true, Params: []Value{branch, length}, Result: I32,
			Doc: "Keeps the first `len` tokens of a branch, at least one: 0. It is a fault where that would cut a picture or a sound.",
		},
		{
			Name: "branch_append", Added: true, Params: []Value{branch, inTokens, count, flags}, Result: I32, Fuel: "bytes / 16",
			Doc: "Adds n tokens, as `u32`, and returns how many the branch has then, or one of the *branch answers*. Flags are the *append bits*.",
		},
		{
			Name: "branch_tokens", Added: true, Params: []Value{branch, from, outPtr, limit}, Result: I32, Fuel: perByte,
			Doc: "The tokens of a branch, its prompt included, from index `from` on, as `history` gives them.",
		},
		{
			Name: "branches_wait", Added: true, Params: []Value{{Name: "list", Type: I32, Access: Write}, count, {Name: "k", Type: I32}, flags}, Result: I32, Fuel: "20,000, and bytes / 16; n_vocab on top for each row that is there and in which fewer than k were found",
			Doc: "Waits until the model has computed n branches, whose handles are at `list` as `u32`: all of them or, with the *wait bit*, any. Returns how many have their row, and lists those first, in the order given. " +
				"k is of how many candidates `branch_candidates` will be asked, at most 4,096. What was shown until now is sent. With n = 0 it only does that. " +
				"The row of a branch to which no token was added since it was forked or cut counts as a token that is put into it: where that is one too many, the answer is −3.",
			Worked: "Branches 0 and 2 wait; with the bit 1 and only 2 ready, `list` is 2, 0 afterwards and the result 1.",
		},
	}
}

// rowsOfBranches read and change what the model says after a branch.
func rowsOfBranches() []Func {
	return []Func{
		{
			Name: "branch_candidates", Added: true, Params: []Value{branch, {Name: "k", Type: I32}, outPtr}, Result: I32, Fuel: "16 × k; n_vocab on top where fewer than k were found in the row before",
			Doc: "What the model says after a branch: `f32` log-sum-exp of the logits, `f32` entropy in nats, `u32 id[k]`, `f32 logit[k]`, best first. The result is how many of the k there are, as some may be impossible. " +
				"A log-probability is a logit less the log-sum-exp. k may be 0. The logits are the model's own, before any sampler.",
			Worked: "k = 2: the sum at 0, the entropy at 4, ids at 8 and 12, logits at 16 and 20.",
		},
		{
			Name: "branch_logits", Added: true, Params: []Value{branch, outPtr, limit}, Result: I32, Fuel: perByte,
			Doc: "The whole row after a branch, an `f32` for each token. `limit` and the result count tokens; nothing is written where it does not fit.",
		},
		{
			Name: "branch_scores", Added: true, Params: []Value{branch, from, outPtr, limit}, Result: I32, Fuel: perByte,
			Doc: "The log-probabilities of a branch's tokens from index `from` on, an `f32` each, given all before them: NaN of those that were not appended with the *append bit*. `limit` and the result count tokens.",
		},
		{
			Name: "branch_open_messages", Added: true, Params: []Value{{Name: "text", Type: I32, Access: Read}, length}, Result: I32, Fuel: "100,000, and 16 × bytes",
			Doc: "Begins a branch with the prompt that the model's template makes of messages: a JSON list as `messages` gives it, after which the assistant answers. Pictures and sounds of the request are named by their hashes. Tools of the request and plugins that make prompts do not take part. " +
				"It may take long; the plugin's time stands still meanwhile. A handle ≥ 0, or one of the *branch answers*: −5 where the template refuses the messages.",
			Worked: "`[{\"role\":\"user\",\"content\":\"Hi\"}]` has 34 bytes. With ChatML's template the branch reads `<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n`.",
		},
		{
			Name: "branch_mask", Added: true, Params: []Value{branch, {Name: "words", Type: I32, Access: Read}, count}, Result: I32, Fuel: "1,000, and n_vocab",
			Doc: "Makes tokens impossible in the row after a branch, as the mask buffer has them: bit i mod 32 of word i / 32 set = token i stays. n is (n_vocab + 31) / 32, rounded down. " +
				"From then on the branch's candidates, logits, log-sum-exp and draws are those of the row without these tokens; a second mask takes away more. It holds for this row, and for those of forks that are made afterwards: the next row is the model's own. 0.",
			Worked: "Of three tokens with the logits 0, 1 and 2 the word 3 leaves the first two: the log-sum-exp was ln(1 + e + e²) = 2.4076, and is ln(1 + e) = 1.3133.",
		},
		{
			Name: "branch_mix", Added: true, Params: []Value{branch, {Name: "list", Type: I32, Access: Read}, count}, Result: I32, Fuel: "1,000, and n × n_vocab",
			Doc: "Makes the row after a branch the sum of rows, each times a weight: n entries, each a `u32` branch, which has a row, and an `f32` weight, which is finite. n is from 1 to 64; the branch itself may be among them. " +
				"A token that is impossible in a row whose weight is not 0 is impossible in the sum. It holds as long as a mask does. 0.",
			Worked: "Guidance with the scale 1.5: the entries (b, 1.5) and (without, −0.5) make the logits 2 and 1 of a token 2 × 1.5 − 1 × 0.5 = 2.5.",
		},
		{
			Name: "branch_grammar", Added: true, Params: []Value{branch, {Name: "grammar", Type: I32}}, Result: I32, Fuel: "2,000, and 16 × n_vocab; later 16 × n_vocab for each row that a wait brings, and 2,000 for each token that is appended",
			Doc: "Has a branch follow a grammar of `grammar_open` from here on: from its beginning, whatever `grammar_accept` did to it. −1 in its place ends that. Candidates, logits, draws and runs have only tokens that it allows, an end token where it may end. " +
				"A fork follows it from where the branch is; a cut goes back in it, and behind the place where it began it begins with the next token. Tokens that are appended must fit. What the row after the branch has lost already stays lost. 0, or −4 where the host has no grammars for branches. Where the grammar becomes too ambiguous to follow, that is a fault.",
			Worked: "After `root ::= \"ab\"` the candidates are tokens such as `a` and `ab`; when `a` was appended, the only one is `b`, and after it an end token.",
		},
	}
}

// drawsOfBranches draw tokens, and have branches go on by themselves.
func drawsOfBranches() []Func {
	return []Func{
		{
			Name: "chain_open", Added: true, Params: []Value{{Name: "text", Type: I32, Access: Read}, length}, Result: I32, Fuel: "20,000, and 16 × bytes",
			Doc: "Makes a sampler chain of the request's sampling parameters, with those changed that a JSON object of at most 64 KiB names as a request's body does: `temperature`, `top_k`, `top_p`, `min_p`, `samplers`, `logit_bias`, penalties and so on. What constrains the answer's form, plugins and a seed are not among them. " +
				"A handle from 1 on, at most 64; 0 is the request's own chain, with its grammar, without its plugins. Or −5, for which `branch_reason` tells which parameter is wrong.",
			Worked: "`chain_open` of `{\"temperature\":1.5}` (19 bytes) is 1 at first.",
		},
		{
			Name: "branch_sample", Added: true, Params: []Value{branch, {Name: "chain", Type: I32}}, Result: I32, Fuel: "1,000, and n_vocab",
			Doc: "Draws a token from the row after a branch with a chain: the token, which is not appended, or one of the *branch answers*: −6 where none is possible. Chains that count tokens, as penalties do, count those of the branch. " +
				"Each branch draws with a generator of its own for each chain, whose seed is the lower 32 bits of what `random` draws first at position 2³³ + 2¹⁶ × chain + the branch's handle. So what a branch draws does not depend on how others go on; two draws from one row differ.",
			Worked: "With `{\"temperature\":0}` it is the first of `branch_candidates`.",
		},
		{
			Name: "branch_run", Added: true, Params: []Value{branch, {Name: "chain", Type: I32}, count, flags}, Result: I32, Fuel: "1,000",
			Doc: "Has a branch go on without the plugin: from the next wait on, n tokens are drawn with the chain and appended, fewer where an end token or a stop token of the request is drawn, which is not appended, or where the branch's room or the program's tokens are used up. `branches_wait` waits for its end, and counts it as a row that was brought; `branch_state` tells how it ended. " +
				"Meanwhile the branch may only be waited for and closed: what else is done to it is a fault. Flags are the *append bits*. 0, or one of the *branch answers* where there is no room for one token.",
			Worked: "`branch_run(0, 0, 12, 0)` and a wait: the branch has 12 tokens more and the state 3, or has 5 more and the state 4, as an end token came sixth.",
		},
		{
			Name: "branch_state", Added: true, Params: []Value{branch}, Result: I32,
			Doc:    "What became of a branch, as of the last wait and of what was done since: one of the *branch states*.",
			Worked: "A branch is 0 when it was opened, 1 when it was waited for, and 0 again when a token was appended.",
		},
		{
			Name: "branch_reason", Added: true, Params: []Value{outPtr, limit}, Result: I32, Fuel: perByte,
			Doc:    "Why the last call was answered with −4 or −5, in a sentence in UTF-8; empty where none was. Returns its length in bytes.",
			Worked: "After `chain_open` of `{\"temperature\":-1}` it is a sentence that begins with `temperature`.",
		},
	}
}

// answersOfPrograms say what clients are shown.
func answersOfPrograms() []Func {
	return []Func{
		{
			Name: "show", Added: true, Params: []Value{{Name: "choice", Type: I32}, inTokens, {Name: "logs", Type: I32, Access: Read}, count}, Result: I32, Fuel: "bytes / 16",
			Doc: "Shows the client n tokens, as `u32`, of a choice, from 0 up to the request's `n`: `param` tells how many there are. `logs` is 0, or where the tokens' log-probabilities are, an `f32` each. They count as chosen: stop strings, limits and end tokens apply to them, and other plugins are told of them. " +
				"0, or 1 where the choice had ended already by the last wait: then they are dropped. When all choices have ended, so does the program.",
			Worked: "With `n` = 2, `show(1, ptr, 0, 3)` shows three tokens of the second choice; `show(2, ptr, 0, 3)` is a fault.",
		},
		{
			Name: "adopt", Added: true, Params: []Value{{Name: "choice", Type: I32}, branch, from}, Result: I32, Fuel: "bytes / 16",
			Doc: "Has a choice go on from a branch, as it is now, when the program has returned 0: as an ordinary answer with the request's own chain and all of its other plugins. The branch's first `from` tokens, at least one, are the prompt, and the others are shown as injected ones. " +
				"Where something was shown of the choice, the branch must begin with the request's prompt, which is as long as `from`, and what was shown; else nothing of the prompt need be the request's. 0. A choice is adopted once. Closing the branch changes nothing.",
			Worked: "A prompt of 10 tokens ends inside a word: with a branch of its first 9 and two that complete it, `adopt(0, b, 9)` shows these two, and the answer goes on after them.",
		},
	}
}

// branchGroups are what these take and answer.
func branchGroups() []Group {
	return []Group{
		{
			Prefix: "branch", Title: "branch answers", Doc: "What a correct program may meet. Whatever else is wrong, as a closed branch, a token that there is not or a row that was not waited for, is a fault.",
			Constants: []Constant{
				{"none_free", -1, "as many are open as the program may have, or 65,536 were"},
				{"context_full", -2, "a branch has no room for so many tokens"},
				{"budget", -3, "the program has put as many tokens into branches as it may, rows without a new token counted: the prompt once, and for each branch another, max_tokens and 256"},
				{"cannot", -4, "the model, or this host, cannot do it: see `branch_reason`"},
				{"refused", -5, "the JSON, the messages or the grammar cannot be used: see `branch_reason`"},
				{"no_token", -6, "no token is possible after the branch"},
			},
		},
		{Prefix: "append", Title: "append bit", Doc: "Flags of `branch_append` and `branch_run`.", Constants: []Constant{{"scored", 1, "keep the tokens' log-probabilities for `branch_scores`"}}},
		{
			Prefix: "state", Title: "branch states", Doc: "What `branch_state` answers. After the end of a run the branch can be waited for again, which computes its row.",
			Constants: []Constant{
				{"pending", 0, "it has no row: wait for it"},
				{"ready", 1, "it has its row"},
				{"running", 2, "it goes on by itself, as `branch_run` said: wait for it"},
				{"ran", 3, "a run has come to its number of tokens, or there was no room for more; the branch has no row"},
				{"ended", 4, "a run has come to an end token, or a stop token, which was not appended; the branch has its row, from which it was drawn"},
				{"stuck", 5, "a run has come to where no token is possible; the branch has its row"},
			},
		},
		{Prefix: "wait", Title: "wait bit", Doc: "Flags of `branches_wait`.", Constants: []Constant{{"any", 1, "one row is enough"}}},
	}
}
