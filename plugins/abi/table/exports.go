// SPDX-License-Identifier: MIT

package table

const (
	hookFuel  = "hook"
	setupFuel = "setup"
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
			Doc: "Hands the manifest (JSON, see below) to `emit`, in one call or in several that are joined.",
		},
		{
			Name: "penstock_warm", Result: I32, Optional: true, When: "once for each module and model", Fuel: setupFuel,
			Doc: "Builds what every request needs, for example an index of the vocabulary. Each later instance starts from a copy of this memory and these globals; " +
				"the copy shares pages until it writes to them. No request exists yet: `config`, `messages` and `history` are empty and `bind` is refused. " +
				"Anything but 0 means that the plugin cannot work with this model; say why through `fail`.",
		},
		{
			Name: "penstock_open", Result: I32, When: "when the request gets its slot", Fuel: setupFuel,
			Doc: "Reads `config` and binds buffers; `bind` is allowed at no other time. 0 accepts the request. Anything else refuses it; give the reason to `fail` before. " +
				"A declared view that is unbound afterwards is a fault.",
		},
		{
			Name: "penstock_messages", Result: I32, Optional: true, Added: true, When: "before `penstock_template` and the model's own template, in an instance of its own", Fuel: setupFuel,
			Doc: "May rewrite the conversation: reads `messages` and hands other messages, a JSON list of the same shape, to `emit`; without that they stay as they are. 0 means success. " +
				"Anything else refuses the request; give the reason to `fail` before. Then the model's own template, or the template among the request's plugins, makes the prompt of them. " +
				"Of several plugins each gets what the one before it in the request has made. What is no list of messages is a fault. A request without messages that names such a plugin is refused with a 400 on `plugins`.",
			Worked: "`messages` gives `[{\"role\":\"user\",\"content\":\"I am Ann\"}]`. Handing `[{\"role\":\"user\",\"content\":\"I am [name]\"}]` (41 bytes) to `emit` has the model read that instead.",
		},
		{
			Name: "penstock_template", Result: I32, When: "before queueing, in an instance of its own", Fuel: setupFuel,
			Doc: "Turns `messages` into the prompt's text and hands it to `emit`. 0 means success. Anything else refuses the request; give the reason to `fail` before. " +
				"A request without messages that names a template plugin is refused with a 400 on `plugins`.",
		},
		{
			Name: "penstock_close", Optional: true, When: "when the request is over", Fuel: hookFuel,
			Doc: "The last call on an instance; not made after a fault.",
		},
		{
			Name: "_initialize", Optional: true, When: "once for each instance, before any other call", Fuel: setupFuel,
			Doc: "The start of a WASI reactor. A module's start function, if it has one, runs before it and under the same limit.",
		},
	}
}

// hookExports stand in the path of every token.
func hookExports() []Func {
	return []Func{
		{
			Name: "penstock_prepare", Result: I32, When: "during the forward pass, before the logits exist", Fuel: hookFuel,
			Doc: "Fills the mask, the bias or the splice buffer for the next token and returns what it filled (see *prepare bits*; 0 = nothing). " +
				"A bit for a buffer that is not bound, or an unknown bit, is a fault.",
			Worked: "With a mask bound for 128,256 tokens, allowing tokens 5 and 40 only means word 0 = `0x00000020`, word 1 = `0x00000100`, the other 4,006 words 0, and the answer `1`.",
		},
		{
			Name: "penstock_sample", Params: []Value{{Name: "n", Type: I32}}, Result: I32, When: "when the logits are there", Fuel: hookFuel,
			Doc: "`n` is min(manifest's candidates, cap, what is left) for a candidates view, n_vocab for logits and 0 for none. " +
				"Logits are as the stages before left them; dropped tokens are −inf. Return −1 after editing the view in place, or the id of the token that is to be taken. " +
				"A plugin that only truncates a candidates view returns −1 − k instead (feature `sample_keep`), which costs less: the first k of the n candidates stay, as they were shown, " +
				"whatever the plugin wrote into the view. k > n, and such an answer with another view, are faults. " +
				"A candidates view truncates: what is outside it is gone for later stages. Ids are read back, in any order. " +
				"An id out of range or twice, NaN or +inf anywhere, and a view with nothing above −inf are faults.",
			Worked: "`n` = 3 and cap = 256: ids at offsets 0, 4, 8; logits at offsets 1024, 1028, 1032. Storing −inf at 1032 and returning −1 bans the third; so does returning −3, which keeps the first two.",
		},
		{
			Name: "penstock_accept", Params: []Value{{Name: "token", Type: I32}}, Result: I32, When: "after a token was chosen, by whomever", Fuel: hookFuel,
			Doc: "`history` includes the token already. Answers are the *accept codes*. A splice is read from the bound splice buffer: " +
				"`backtrack` counts back from and including this token (0 appends after it, 1 replaces it), at most `hold`, and at most what was generated. " +
				"The `n` tokens are then accepted one by one by every plugin; to those calls only 0 and 1 are answers.",
			Worked: "History … 17, 4, 9 with 9 just accepted; backtrack = 2, n = 1, token[0] = 30 leaves … 17, 30.",
		},
		{
			Name: "penstock_stop", Params: []Value{{Name: "token", Type: I32}, {Name: "len", Type: I32}}, Result: I32,
			When: "after `accept`, with the text that is new", Fuel: hookFuel,
			Doc: "`len` bytes of new text lie in the bound text buffer: whole UTF-8 characters, each seen once, whatever other plugins hold back; `len` may be 0. " +
				"Answers are the *stop codes*; any r < 0 ends and shows the first −r−1 bytes since this plugin's last 0. " +
				"What is shown is the minimum over stop strings and plugins; at the end held text is shown.",
			Worked: "After an answer 0 came \"Hel\" (answer 3, hold) and \"lo#\". Returning −6 shows \"Hello\" (5 bytes) and ends; returning 2 shows neither piece.",
		},
		{
			Name: "penstock_draft", Params: []Value{{Name: "n", Type: I32}}, Result: I32, Optional: true, Added: true, When: "after `accept`, before the next forward pass", Fuel: hookFuel,
			Doc: "May guess how the answer goes on: writes at most `n` tokens into the bound splice buffer, from token[0] on, and returns how many; 0 guesses nothing. The next pass computes them together, " +
				"and the answer takes those that it would have drawn anyway, so what it says does not depend on the guess. The host need not use it: it counts how often guesses are right, and what a longer pass costs. " +
				"Less than 0, more than `n`, more than fit and what is no token are faults.",
			Worked: "The prompt has … 17, 4, 9, 30, 8 and the answer ends with 17, 4: writing 9, 30, 8 and returning 3 has one pass compute the three, if n is 3 or more.",
		},
		{
			Name: "penstock_rewind", Params: []Value{{Name: "len", Type: I32}}, Result: I32, Optional: true, When: "when tokens were taken back", Fuel: hookFuel,
			Doc: "The history is now `len` tokens long, prompt included. Called for another plugin's splice, a user's rewind, injection or fork, and rejected speculation. " +
				"0 on success; anything else is a fault. A plugin with `accept` but without this gets a fresh instance instead, replayed through `accept` with its answers ignored. " +
				"So does one with `stop` and without this, where text that it was shown was taken back, and each such instance is also shown again, through `stop`, the text that still stands (feature `stop_replay`). " +
				"What these calls answer changes only what the plugin holds back.",
			Worked: "A stop rule was shown \"One. \", \"Two. \" and \"Thr\", and the user takes the last two tokens back: a fresh instance is shown \"One. \" again, and next what comes in the place of \"Two. \".",
		},
	}
}
