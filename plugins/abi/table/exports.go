// SPDX-License-Identifier: MIT

package table

const (
	hookFuel  = "hook"
	setupFuel = "setup"
	planFuel  = "plan"
)

func exports() []Func {
	return append(append(lifeExports(), hookExports()...), runExport())
}

// lifeExports are called around a request's tokens, never between them.
func lifeExports() []Func {
	return []Func{
		{
			Name: "penstock_abi_v1", When: "never called",
			Doc: "Its presence declares the version. The host looks for it before any code of the plugin runs and refuses a module that lacks it.",
		},
		{
			Name: "penstock_describe", When: "once, when the module is loaded", Fuel: setupFuel,
			Doc: "Passes the [manifest](#manifest) as JSON to `emit`, in one call or in several that are joined. A module that cannot work hands the reason to `fail` instead, and is not loaded.",
		},
		{
			Name: "penstock_warm", Result: I32, Optional: true, When: "once for each module and model", Fuel: setupFuel,
			Doc: "Builds what every request needs, for example an index of the vocabulary. Each later instance starts from a copy of this memory and these globals; " +
				"the copy shares pages until it writes to them. No request exists yet: `config`, `messages` and `history` are empty and `bind` is refused. " +
				"Anything but 0 means that the plugin cannot work with this model; give the reason to `fail` before.",
		},
		{
			Name: "penstock_plan", Result: I32, Optional: true, Added: true, When: "once for each configuration and model, before queueing", Fuel: planFuel,
			Doc: "Says what one configuration needs, see [plans](#plans). It runs in a copy of the memory that `penstock_warm` left, reads `config`, and may hand a JSON object to `emit` that narrows the manifest for requests with this configuration. " +
				"Their instances start from a copy of the memory that it leaves. Of the request it knows nothing but the configuration: `messages` and `history` are empty, `bind` is refused, and `random` draws as in `penstock_warm`. " +
				"Anything but 0 refuses the configuration, which is a 400 on the plugin's `config`; give the reason to `fail` before.",
			Worked: "The manifest implements `penstock_open`, `penstock_sample` and `penstock_accept`, with `\"hold\": 24`. A plan that emits `{\"implements\":[\"penstock_open\",\"penstock_accept\"],\"hold\":3}` (59 bytes): requests with this configuration are shown no candidates, and run three tokens behind.",
		},
		{
			Name: "penstock_open", Result: I32, When: "when the request gets its slot", Fuel: setupFuel,
			Doc: "Reads `config` and binds buffers; `bind` is allowed at no other time. 0 accepts the request. Anything else refuses it; give the reason to `fail` before. " +
				"If a declared view is not bound afterwards, that is a fault.",
		},
		{
			Name: "penstock_messages", Result: I32, Optional: true, Added: true, When: "before `penstock_template` and the model's own template, in an instance of its own", Fuel: setupFuel,
			Doc: "May rewrite the conversation: it reads `messages` and passes other messages, a JSON list of the same form, to `emit`; if it does not, they stay as they are. 0 means success. " +
				"Anything else refuses the request; give the reason to `fail` before. Then the model's own template, or the request's template plugin, makes the prompt from them. " +
				"If there are several such plugins, each gets the result of the one before it in the request. A result that is not a list of messages is a fault. A request without messages that names such a plugin is refused with a 400 on `plugins`.",
			Worked: "`messages` gives `[{\"role\":\"user\",\"content\":\"I am Ann\"}]`. Handing `[{\"role\":\"user\",\"content\":\"I am [name]\"}]` (41 bytes) to `emit` makes the model read that instead.",
		},
		{
			Name: "penstock_template", Result: I32, When: "before queueing, in an instance of its own", Fuel: setupFuel,
			Doc: "Makes the prompt's text from `messages` and passes it to `emit`. 0 means success. Anything else refuses the request; give the reason to `fail` before. " +
				"A request without messages that names a template plugin is refused with a 400 on `plugins`.",
		},
		{
			Name: "penstock_close", Optional: true, When: "when the request is over", Fuel: hookFuel,
			Doc: "The last call on an instance. It is not called after a fault.",
		},
		{
			Name: "_initialize", Optional: true, When: "once for each instance, before any other call", Fuel: setupFuel,
			Doc: "The start of a WASI reactor. A module's start function, if it has one, runs before it and under the same limit.",
		},
	}
}

// hookExports are called for every token.
func hookExports() []Func {
	return []Func{
		{
			Name: "penstock_prepare", Result: I32, When: "during the forward pass, before the logits exist", Fuel: hookFuel,
			Doc: "Fills the mask, the bias or the splice buffer for the next token and returns which it filled (see *prepare bits*; 0 = none). " +
				"A bit for a buffer that is not bound, or an unknown bit, is a fault.",
			Worked: "A mask is bound for 128,256 tokens. To allow only tokens 5 and 40, set word 0 to `0x00000020`, word 1 to `0x00000100` and the other 4,006 words to 0, and return `1`.",
		},
		{
			Name: "penstock_sample", Params: []Value{{Name: "n", Type: I32}}, Result: I32, When: "when the logits have been computed", Fuel: hookFuel,
			Doc: "`n` is min(manifest's candidates, cap, what is left) for a candidates view, n_vocab for logits and 0 for none. " +
				"Logits are as the earlier stages left them; dropped tokens are −inf. Return −1 after editing the view in place, or the id of the token to choose. " +
				"A plugin that only truncates a candidates view can return −1 − k instead (feature `sample_keep`), which costs less: the first k of the n candidates stay as they were shown, " +
				"whatever the plugin wrote into the view. k > n, and such an answer with another view, are faults. " +
				"A candidates view truncates: tokens outside it are dropped for later stages. Ids are read back, in any order. " +
				"An id out of range or twice, NaN or +inf anywhere, and a view with no logit above −inf are faults.",
			Worked: "`n` = 3 and cap = 256: ids at offsets 0, 4, 8; logits at offsets 1024, 1028, 1032. Storing −inf at 1032 and returning −1 bans the third; so does returning −3, which keeps the first two.",
		},
		{
			Name: "penstock_accept", Params: []Value{{Name: "token", Type: I32}}, Result: I32, When: "after a token was chosen, whoever chose it", Fuel: hookFuel,
			Doc: "`history` already includes the token. Answers are the *accept codes*. A splice is read from the bound splice buffer: " +
				"`backtrack` counts back from and including this token (0 appends after it, 1 replaces it), at most `hold`, and at most the generated tokens. " +
				"Every plugin's `accept` is then called for each of the `n` tokens; these calls may only return 0 and 1.",
			Worked: "The history is … 17, 4, 9, and 9 was just accepted: backtrack = 2, n = 1, token[0] = 30 leaves … 17, 30.",
		},
		{
			Name: "penstock_stop", Params: []Value{{Name: "token", Type: I32}, {Name: "len", Type: I32}}, Result: I32,
			When: "after `accept`, with the new text", Fuel: hookFuel,
			Doc: "The bound text buffer has `len` bytes of new text: whole UTF-8 characters, each seen once, whatever other plugins hold back; `len` may be 0. " +
				"Answers are the *stop codes*; any r < 0 ends the answer and shows the first −r−1 bytes since this plugin's last 0. " +
				"The text that is shown is the minimum over stop strings and plugins; at the end of the answer held text is shown.",
			Worked: "After a call that returned 0, the text \"Hel\" came (the call returned 3, hold) and then \"lo#\". Returning −6 shows \"Hello\" (5 bytes) and ends; returning 2 shows neither piece.",
		},
		{
			Name: "penstock_filter", Params: []Value{length, {Name: "last", Type: I32}}, Result: I32, Optional: true, Added: true, When: "with text that is about to be shown, and once at the end of the answer", Fuel: hookFuel,
			Doc: filterDoc,
			Worked: "The text buffer has \"Mail [EMA\" (9 bytes) and the plugin returns 4: the client sees \"Mail \". The next call has \"[EMA\" again, with what follows it: \"[EMAIL_1] now\" (13 bytes). " +
				"Handing \"ann@example.org\" (15 bytes) to `emit` and returning 4 shows that, and keeps \" now\" back. The last call has \" now\" and `last` = 1; returning 0 shows it.",
		},
		{
			Name: "penstock_draft", Params: []Value{{Name: "n", Type: I32}}, Result: I32, Optional: true, Added: true, When: "after `accept`, before the next forward pass", Fuel: hookFuel,
			Doc: "May draft the next tokens: it writes at most `n` tokens into the bound splice buffer, from token[0] on, and returns how many; 0 drafts none. The next pass computes them together, " +
				"and the answer takes those that it would have drawn anyway, so its text does not depend on the draft. The host need not use a draft: it weighs how often drafts are right against what a longer pass costs. " +
				"A result below 0, above `n` or above the size of the buffer, and an id that is no token, are faults.",
			Worked: "The prompt has … 17, 4, 9, 30, 8 and the answer ends with 17, 4: if n is 3 or more, writing 9, 30, 8 and returning 3 makes one pass compute all three.",
		},
		{
			Name: "penstock_rewind", Params: []Value{{Name: "len", Type: I32}}, Result: I32, Optional: true, When: "when tokens were taken back", Fuel: hookFuel,
			Doc: "The history is now `len` tokens long, prompt included. It is called for another plugin's splice, a user's rewind, injection or fork, and rejected drafts. " +
				"0 means success; anything else is a fault. A plugin that implements `accept` but not this gets a new instance instead, to which the tokens are replayed through `accept`; its answers are ignored. " +
				"So does a plugin with `stop` and without this, if text that it was shown was taken back. Each such instance is also shown the remaining text again, through `stop` (feature `stop_replay`). " +
				"The answers to these calls only change what the plugin holds back.",
			Worked: "A stop rule was shown \"One. \", \"Two. \" and \"Thr\", and the user takes the last two tokens back: a new instance is shown \"One. \" again, and then the text that replaces \"Two. \".",
		},
	}
}

const filterDoc = "May rewrite the text before anybody sees it. The bound text buffer has `len` bytes: what the plugin kept back, followed by new text that is about to be shown, in whole characters. " +
	"What the plugin hands to `emit`, if only an empty text, is shown in the place of it; without a call of `emit` it is shown as it is. " +
	"The answer r keeps its last r bytes back: they are not shown, and the next call begins with them. `last` is 1 in one more call when the answer has ended by itself, perhaps with no text; then r must be 0.\n\n" +
	"The text is the answer's as the model wrote it, after stop strings and stop rules, and before it is taken apart into reasoning, content and tool calls; tags and JSON that a plugin changes are read as it leaves them. " +
	"Several such plugins follow one another in the order of the chain: each gets what the one before it shows. Tokens, `text`, `history`, usage, log-probabilities and traces are not changed: they are of the model's own tokens, and a token's text in a stream is what became visible with it. " +
	"Text that a plugin keeps back when a client cancels the answer, the time is over, or a plugin faults, is not shown.\n\n" +
	"If tokens whose text was shown are taken back, so is the text that the plugin made of them; a plugin without `penstock_rewind` gets a new instance, to which the calls that still stand are made again, without effect. " +
	"A result below 0, above `len` or inside a character, more than `held_bytes` kept back, so much that no character more fits the buffer, and more text than `filter_bytes` are faults. With `on_error: skip` the text is then shown as it is. " +
	"What a program shows goes through the filters of the request's other plugins. Bytes that are no UTF-8 become U+FFFD."

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
