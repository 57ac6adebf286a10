// SPDX-License-Identifier: MIT

package table

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
			"the functions `branch_…`, `branches_wait` and `show`, which are allowed nowhere else. Branches of one program share what they have in common. All that are waited for are computed in one forward pass, with everybody else's. " +
			"0 ends the answer with what was shown; for anything else give the reason to `fail` before. " +
			"Fuel and time are those of a call between two waits: each row that a wait brings adds one more `hook_fuel`, up to one for each branch and one, and the time begins anew. " +
			"A plugin with it has none of `penstock_prepare`, `penstock_sample`, `penstock_accept`, `penstock_stop` and `penstock_rewind`, and its manifest names how many `branches` it needs. A request has one such plugin, and one choice.",
	}
}

// branchImports drive the branches of a program. All but show change the program's own view of them at once; the model learns of it with the
// next wait.
func branchImports() []Func {
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
			Doc: "Keeps the first `len` tokens of a branch, at least one: 0.",
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
			Name: "branches_wait", Added: true, Params: []Value{{Name: "list", Type: I32, Access: Write}, count, {Name: "k", Type: I32}, flags}, Result: I32, Fuel: "1,000, and bytes / 16",
			Doc: "Waits until the model has computed n branches, whose handles are at `list` as `u32`: all of them or, with the *wait bit*, any. Returns how many have their row, and lists those first, in the order given. " +
				"k is of how many candidates `branch_candidates` will be asked, at most 4,096. What was shown until now is sent. With n = 0 it only does that.",
			Worked: "Branches 0 and 2 wait; with the bit 1 and only 2 ready, `list` is 2, 0 afterwards and the result 1.",
		},
		{
			Name: "branch_candidates", Added: true, Params: []Value{branch, {Name: "k", Type: I32}, outPtr}, Result: I32, Fuel: "16 × k; n_vocab on top where k is more than the wait was told",
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
			Name: "show", Added: true, Params: []Value{inTokens, {Name: "logs", Type: I32, Access: Read}, count}, Result: I32, Fuel: "bytes / 16",
			Doc: "Shows the client n tokens, as `u32`; `logs` is 0, or where their log-probabilities are, an `f32` each. They count as chosen: stop strings, limits, end tokens and a grammar apply to them, other plugins are told of them, " +
				"and what ends the answer ends the program. 0.",
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
				{"budget", -3, "the program has put as many tokens into branches as it may: the prompt once, and for each branch another, max_tokens and 256"},
			},
		},
		{Prefix: "append", Title: "append bit", Doc: "Flags of `branch_append`.", Constants: []Constant{{"scored", 1, "keep the tokens' log-probabilities for `branch_scores`"}}},
		{Prefix: "wait", Title: "wait bit", Doc: "Flags of `branches_wait`.", Constants: []Constant{{"any", 1, "one row is enough"}}},
	}
}
