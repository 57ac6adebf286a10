// SPDX-License-Identifier: MIT

package tck

import (
	"slices"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// vocabularyCases are about what a guest learns about the model's tokens.
func vocabularyCases() []Case {
	d := newDraft("no-token", "")
	size := d.Call(abi.ImportVocabSize)
	missing := func(token []byte) []byte {
		return slices.Concat(
			d.is("piece of no token", -1, token, asm.I32(atScratch), asm.I32(64), d.Call(abi.ImportPiece)),
			d.is("attributes of no token", -1, token, d.Call(abi.ImportTokenAttr)),
		)
	}
	return []Case{
		unchanged("there is nothing of tokens and kinds that are not", d.open(missing(size), missing(asm.I32(-1)),
			d.is("an unknown special kind", -1, d.call(abi.ImportSpecial, 99)),
			d.must("eos is a token or -1", d.call(abi.ImportSpecial, abi.SpecialEOS), asm.I32(1), asm.Add, size, asm.I32(1), asm.Add, asm.Less))),
		unchanged("vocab has an offset for each piece and one more, then their bytes", wholeVocabulary()),
		unchanged("tokenize counts tokens, writes them where they fit, and refuses unknown flags", tokenizing()),
	}
}

// wholeVocabulary compares vocab with piece, token by token.
func wholeVocabulary() *draft {
	d := newDraft("vocab", "")
	d.Pages = 256
	size, all := d.Call(abi.ImportVocabSize), d.call(abi.ImportVocab, atRow, 12<<20)
	offset := func(index ...[]byte) []byte {
		return slices.Concat(asm.I32(atRow), slices.Concat(index...), asm.I32(4), asm.Multiply, asm.Add, asm.Load)
	}
	return d.open(
		d.equal("its length where it does not fit", d.call(abi.ImportVocab, 0, 0), all),
		d.is("the first offset", 0, offset(asm.I32(0))),
		d.equal("the length is that of the offsets and the last one", all,
			slices.Concat(size, asm.I32(1), asm.Add, asm.I32(4), asm.Multiply, offset(size), asm.Add)),
		asm.Each(1, size, d.equal("the length of a piece", slices.Concat(asm.Local(1), asm.I32(0), asm.I32(0), d.Call(abi.ImportPiece)),
			slices.Concat(offset(asm.Local(1), asm.I32(1), asm.Add), offset(asm.Local(1)), asm.Subtract))))
}

func tokenizing() *draft {
	d := newDraft("tokenize", "")
	at, n := d.note("1 2 3")
	tokens := func(flags, limit int) []byte { return d.call(abi.ImportTokenize, at, n, flags, atHistory, limit) }
	return d.open(
		d.must("there are some", tokens(0, 0)),
		d.is("nothing is written where they do not fit", 0, asm.I32(atHistory), asm.Load),
		d.equal("their number", tokens(0, 0), tokens(0, 64)),
		asm.Each(1, tokens(0, 64), d.must("they are in the vocabulary",
			asm.I32(atHistory), asm.Local(1), asm.I32(4), asm.Multiply, asm.Add, asm.Load, d.Call(abi.ImportVocabSize), asm.Less)),
		d.must("with special tokens there are as many or more", tokens(0, 0),
			tokens(abi.TokenizeAddSpecial|abi.TokenizeParseSpecial, 64), asm.I32(1), asm.Add, asm.Less),
		d.is("an unknown flag", -1, tokens(4, 64)),
		d.is("no text", 0, d.call(abi.ImportTokenize, at, 0, 0, atHistory, 64)))
}
