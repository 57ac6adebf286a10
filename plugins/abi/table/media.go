// SPDX-License-Identifier: MIT

package table

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
