// SPDX-License-Identifier: MIT

package table

func groups() []Group {
	return append(append(answerGroups(), argumentGroups()...), branchGroups()...)
}

// answerGroups are the codes that exports return.
func answerGroups() []Group {
	return []Group{
		{
			Prefix: "prepare", Title: "prepare bits", Doc: "What `penstock_prepare` filled; bits may be joined.",
			Constants: []Constant{
				{"mask", 1, "the mask buffer"},
				{"bias", 2, "the bias buffer"},
				{"force", 4, "the splice buffer: token[0] with n = 1 and backtrack 0 is the next token; no `sample` runs, every `accept` does. With n > 1 (feature `prepare_force_many`) the n tokens follow one after another"},
			},
		},
		{
			Prefix: "sample", Title: "sample answers",
			Doc: "Any answer ≥ 0 is the id of the chosen token. With the feature `sample_keep` an answer −1 − k, k ≥ 1, keeps the first k candidates " +
				"of the view as they were shown, and the chain continues; the view is not read back.",
			Constants: []Constant{
				{"edited", -1, "the view was edited, or left as it is; the chain continues"},
				{"biased", -2147483648, "the entries of the bias buffer are added to the logits as the earlier stages left them, and the chain continues; the view is not read back, and nothing is truncated (feature `sample_bias`). " +
					"An entry for a token that those stages dropped has no effect. Logits are limited to the largest finite number. It is a fault if no token is left above −inf"},
			},
		},
		{
			Prefix: "accept", Title: "accept codes", Doc: "Answers of `penstock_accept`; any other is a fault.",
			Constants: []Constant{
				{"continue", 0, "go on"},
				{"stop", 1, "end the answer after this token"},
				{"splice", 2, "take back and insert the tokens that the splice buffer says"},
			},
		},
		{
			Prefix: "stop", Title: "stop codes", Doc: "Answers of `penstock_stop`; r < 0 ends and shows the first −r−1 bytes since the plugin's last 0. Any other is a fault.",
			Constants: []Constant{
				{"show", 0, "all text so far may be shown"},
				{"end", 1, "end and show it"},
				{"hide", 2, "end and show nothing since this plugin's last 0"},
				{"hold", 3, "hold back for now"},
			},
		},
	}
}

// argumentGroups are the codes that imports take and return.
func argumentGroups() []Group {
	return []Group{
		{
			Prefix: "param", Title: "param kinds", Doc: "First argument of `param`.",
			Constants: []Constant{
				{"prompt_tokens", 0, "tokens of the prompt"},
				{"max_tokens", 1, "the maximum number of tokens to generate"},
				{"context_size", 2, "tokens that fit the slot"},
				{"seed", 3, "seed of this instance's choice"},
				{"time", 4, "when the request arrived, in milliseconds since 1970 (UTC). A replay returns the same. −1 if it is not known (feature `param_time`)"},
				{"choice", 5, "the number of this answer among those to its prompt, from 0 (feature `param_choice`)"},
				{"choices", 6, "the number of answers to its prompt: the request's `n` (feature `param_choice`)"},
			},
		},
		{
			Prefix: "token", Title: "reserved token", Doc: "An id that no vocabulary has, see *pictures and sounds*. As `u32` it is 0xFFFFFFFF.",
			Constants: []Constant{{"media", -1, "a row of a picture or a sound in `history` and `branch_tokens`"}},
		},
		{
			Prefix: "part", Title: "parts", Doc: "Result of `part`.",
			Constants: []Constant{
				{"content", 0, "the answer itself"},
				{"reasoning", 1, "the model's reasoning before the answer"},
				{"tool_call", 2, "a call of a tool, with its arguments"},
				{"unknown", -1, "the host does not know, or there is no request"},
			},
		},
		{
			Prefix: "special", Title: "special kinds", Doc: "First argument of `special`.",
			Constants: []Constant{
				{"bos", 0, "beginning of a sequence"},
				{"eos", 1, "end of a sequence"},
				{"eot", 2, "end of a turn"},
				{"newline", 3, "a line break"},
			},
		},
		{
			Prefix: "attr", Title: "attribute bits", Doc: "Result of `token_attr`.",
			Constants: []Constant{
				{"control", 1, "a control token"},
				{"end", 2, "ends generation"},
				{"byte", 4, "a single byte"},
				{"unused", 8, "never trained"},
			},
		},
		{
			Prefix: "tokenize", Title: "tokenize bits", Doc: "Flags of `tokenize`.",
			Constants: []Constant{
				{"add_special", 1, "add the tokens that the model expects at the beginning and end"},
				{"parse_special", 2, "read the text of control tokens as control tokens"},
			},
		},
		{
			Prefix: "log", Title: "log levels", Doc: "First argument of `log`; any other value means the nearest level.",
			Constants: []Constant{{"debug", 0, ""}, {"info", 1, ""}, {"warn", 2, ""}, {"error", 3, ""}},
		},
		{
			Prefix: "grammar", Title: "grammar kinds", Doc: "First argument of `grammar_open`.",
			Constants: []Constant{{"gbnf", 0, "llama.cpp's grammar notation"}, {"json_schema", 1, "a JSON schema"}},
		},
		{
			Prefix: "within", Title: "within answers", Doc: "Result of `grammar_mask_within`.",
			Constants: []Constant{{"filled", 0, "the mask is filled"}, {"refused", -1, "as with `grammar_mask`"}, {"too_few", -2, "the text cannot be completed with so few tokens; the mask is empty"}},
		},
		{
			Prefix: "rest", Title: "rest answers", Doc: "Result of `grammar_rest`, if it is not a number of tokens.",
			Constants: []Constant{{"ended", -1, "the text is complete, and only an end token may follow"},
				{"unknown", -2, "there is no such handle, the model has no tokens that complete the text, or computing it takes too long"}},
		},
		{
			Prefix: "bind", Title: "bind answers", Doc: "Result of `bind`.",
			Constants: []Constant{{"ok", 0, "bound"}, {"refused", -1, "see `bind`"}},
		},
		{Prefix: "decline", Title: "decline answers", Doc: "Result of `decline`.", Constants: []Constant{{"ok", 0, "the host does not call it in this request"}, {"refused", -1, "see `decline`"}}},
		{Prefix: "hold", Title: "hold answers", Doc: "Result of `hold`.", Constants: []Constant{{"ok", 0, "so many tokens may be taken back in this request"}, {"refused", -1, "see `hold`"}}},
		{Prefix: "note", Title: "note answers", Doc: "Result of `note`.", Constants: []Constant{{"ok", 0, "the token's trace has it, if there is one"}, {"refused", -1, "see `note`"}}},
		{
			Prefix: "output", Title: "output answers", Doc: "Result of `output`.",
			Constants: []Constant{{"ok", 0, "the client gets the value"}, {"refused", -1, "see `output`"}},
		},
	}
}
