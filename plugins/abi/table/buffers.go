// SPDX-License-Identifier: MIT

package table

func buffers() []Buffer {
	llama := map[string]int64{"cap": 256, "n_vocab": 128256}
	return []Buffer{
		{
			Name: "candidates", Kind: 1, Worked: llama,
			Fields: []Field{{"id", "u32", "cap"}, {"logit", "f32", "cap"}},
			Doc: "The default view: the host's exact top k, best first, k ≤ cap. cap = len / 8. " +
				"Both arrays keep their place when there are fewer than cap candidates: logits always start at 4 × cap.",
		},
		{
			Name: "logits", Kind: 2, Worked: llama,
			Fields: []Field{{"logit", "f32", "n_vocab"}},
			Doc:    "The whole row. It must be declared in the manifest, since it costs a copy of the row and a pass over it. len = 4 × n_vocab.",
		},
		{
			Name: "mask", Kind: 3, Worked: llama,
			Fields: []Field{{"word", "u32", "words"}},
			Doc: "If bit i mod 32 of word i / 32 is set, token i is allowed. words = (n_vocab + 31) / 32, rounded down. " +
				"Filled by `penstock_prepare` and applied natively with SIMD; bits beyond n_vocab are ignored.",
		},
		{
			Name: "bias", Kind: 4, Worked: map[string]int64{"cap": 16, "n_vocab": 128256},
			Fields: []Field{{"n", "u32", "1"}, {"entry", "pair", "cap"}},
			Doc: "`n` entries are read, each a `u32 id` and an `f32 bias` that is added to the raw logit; −inf bans, NaN is a fault. " +
				"cap = (len − 4) / 8; n > cap is a fault.",
		},
		{
			Name: "splice", Kind: 5, Worked: map[string]int64{"cap": 8, "n_vocab": 128256},
			Fields: []Field{{"backtrack", "u32", "1"}, {"n", "u32", "1"}, {"token", "u32", "cap"}},
			Doc: "Read when `penstock_accept` answers 2, and by bit 4 of `penstock_prepare` (then backtrack = 0 and n = 1, or more with the feature `prepare_force_many`). " +
				"cap = (len − 8) / 4; n > cap is a fault. If answers go on when the context is full, more tokens at once than the context has are a fault too.",
		},
		{
			Name: "text", Kind: 6, Worked: map[string]int64{"cap": 4096, "n_vocab": 128256},
			Fields: []Field{{"byte", "u8", "cap"}},
			Doc: "New text for `penstock_stop` and `penstock_filter`. cap = len, at least 256. Text longer than cap is passed in several calls, " +
				"each with whole characters.",
		},
	}
}

// Size returns the bytes of one element of a field's type.
func (f Field) Size() int64 {
	switch f.Type {
	case "u8":
		return 1
	case "pair":
		return 8
	default:
		return 4
	}
}

// Elements returns how many elements the field has under the worked values.
func (f Field) Elements(worked map[string]int64) int64 {
	switch f.Count {
	case "1":
		return 1
	case "words":
		return (worked["n_vocab"] + 31) / 32
	default:
		return worked[f.Count]
	}
}
