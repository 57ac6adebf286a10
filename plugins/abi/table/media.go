// SPDX-License-Identifier: MIT

package table

// mediaImport tells of pictures and sounds.
func mediaImport() Func {
	return Func{
		Name: "media", Added: true, Params: []Value{outPtr, limit}, Result: I32, Fuel: perByte,
		Doc: "The pictures and sounds of the prompt, in their order there, as a JSON list; `[]` where there are none, and where there is no request. Each is an object with `type` (`image` or `audio`), " +
			"`hash` (the SHA-256 of the file, in hexadecimal digits), `bytes` (of the file), `tokens` (how many of the prompt's stand for it, with those that the model expects around it), `width` and `height` in pixels or `seconds`, " +
			"and `detail` where the client has asked for one. `at` is the index in `history` of the first of its tokens, when the answer begins. In `penstock_messages` and `penstock_template` they are those of the conversation, each once, " +
			"and have their marker as `text` in the place of `at`. A plugin must allow for members that it does not know. Returns its length in bytes. See *pictures and sounds*.",
		Worked: "A picture of 100 × 80 pixels after 9 tokens of text: `[{\"type\":\"image\",\"hash\":\"9f86d081…\",\"width\":100,\"height\":80,\"bytes\":1234,\"tokens\":14,\"at\":9}]`. If the model expects a token before a picture and one after it, `history(9, ptr, 14)` is that token, twelve times 0xFFFFFFFF, and the other.",
	}
}

const media = `A prompt may have pictures and sounds (feature ` + "`media`" + `, the import of that name). Plugins see where they stand and what they are, and none of what is
seen or heard. A plugin that knows nothing of them works with them, but for what it says of the reserved token itself.

**Among tokens** a picture or a sound takes as many as ` + "`tokens`" + ` of ` + "`media`" + ` says. Its rows, which are embeddings, are all shown as one id, the *reserved token*
0xFFFFFFFF; tokens that the model expects before and after them are shown as they are. The reserved token has no text: there is no such token for ` + "`piece`, `vocab` and `token_attr`" + `.
It cannot be said: wherever the host reads tokens (splices, forced tokens, guesses, entries of a bias, candidates, ` + "`branch_open`, `branch_append`, `show`" + `) it is an id out of range,
which is a fault, and ` + "`grammar_accept`" + ` refuses it. It stands in prompts only, so no splice, rewind or text of an answer comes to one. Masks, grammars and samplers have to do with
the vocabulary, in answers about pictures as in others.

**In conversations** the content of a message with pictures or sounds is a list of parts, in their order: of type ` + "`text`" + ` with a ` + "`text`" + `, and of type ` + "`image` or `audio`" + ` with
the members that ` + "`media`" + ` lists. The ` + "`text`" + ` of such a part is its marker: it stands for the picture or the sound in the texts of this request, is drawn at random for each, and is
the same for the same file. So a plugin that puts the texts of all parts together, as the SDKs do, keeps pictures in their places. Other messages have a text as before.

- What ` + "`penstock_messages`" + ` hands to ` + "`emit`" + ` names a picture or a sound by a part with its ` + "`type` and `hash`" + `, or by its marker in a text. It may move, drop and repeat them, at most 128 in all.
  A hash that is not of the request, another kind of part and a marker that is not whole are faults.
- The text that ` + "`penstock_template`" + ` makes has a picture or a sound where a marker stands. What it leaves out is not in the prompt.
- ` + "`prompt`" + ` takes messages with them and gives a text with markers. What plugins leave out is not computed.
- ` + "`branch_open_messages`" + ` takes parts of the pictures and sounds in the request's prompt: a program learns their hashes from ` + "`media`" + `, in which they have no markers.

**In branches** they come and go as a whole. ` + "`branch_cut`" + ` to a place within one is a fault, as is waiting for a branch that ends on a row: nothing can be said after one. A program
that wants the prompt, or a beginning of it, opens it with n = 0 and cuts it. Rows have no log-probabilities: ` + "`branch_scores`" + ` is NaN of them and of the token after.

*Worked:* a user sends a picture of 100 × 80 pixels and asks. ` + "`messages`" + ` gives the following, in one line, and of ` + "`[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Look: \"},{\"type\":\"image\",\"hash\":\"9f86d081…\"}]}]`" + `,
handed to ` + "`emit`" + `, the model reads "Look: " and sees the picture; of ` + "`[{\"role\":\"user\",\"content\":\"Look: <__media_QZ…_0__>\"}]`" + ` it does the same.

` + "```json" + `
[{"role":"user","content":[
  {"type":"image","text":"<__media_QZ…_0__>","hash":"9f86d081…","width":100,"height":80,"bytes":1234,"tokens":14},
  {"type":"text","text":"What is this?"}]}]
` + "```" + ``
