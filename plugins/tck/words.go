// SPDX-License-Identifier: MIT

package tck

import (
	"github.com/penstock/penstock/plugins/abi"
	p "github.com/penstock/penstock/plugins/asm"
)

// vocabularyCases are about what a guest is told of the model's tokens.
func vocabularyCases() []Case {
	d := newDraft("no-token", "")
	size := d.Call(abi.ImportVocabSize)
	missing := func(token []byte) []byte {
		return join([][]byte{
			d.same("piece of no token", -1, token, p.I32(atScratch), p.I32(64), d.Call(abi.ImportPiece)),
			d.same("attributes of no token", -1, token, d.Call(abi.ImportTokenAttr)),
		})
	}
	return []Case{
		unchanged("there is nothing of tokens and kinds that are not", d.open(missing(size), missing(p.I32(-1)),
			d.same("an unknown special kind", -1, d.call(abi.ImportSpecial, 99)),
			d.must("eos is a token or -1", d.call(abi.ImportSpecial, abi.SpecialEOS), p.I32(1), p.Add, size, p.I32(1), p.Add, p.Less))),
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
		return join([][]byte{p.I32(atRow), join(index), p.I32(4), p.Multiply, p.Add, p.Load})
	}
	return d.open(
		d.like("its length where it does not fit", d.call(abi.ImportVocab, 0, 0), all),
		d.same("the first offset", 0, offset(p.I32(0))),
		d.like("the length is that of the offsets and the last one", all, join([][]byte{size, p.I32(1), p.Add, p.I32(4), p.Multiply, offset(size), p.Add})),
		p.Each(1, size, d.like("the length of a piece", join([][]byte{p.Local(1), p.I32(0), p.I32(0), d.Call(abi.ImportPiece)}),
			join([][]byte{offset(p.Local(1), p.I32(1), p.Add), offset(p.Local(1)), p.Subtract}))))
}

func tokenizing() *draft {
	d := newDraft("tokenize", "")
	at, n := d.note("1 2 3")
	tokens := func(flags, limit int) []byte { return d.call(abi.ImportTokenize, at, n, flags, atHistory, limit) }
	return d.open(
		d.must("there are some", tokens(0, 0)),
		d.same("nothing is written where they do not fit", 0, p.I32(atHistory), p.Load),
		d.like("their number", tokens(0, 0), tokens(0, 64)),
		p.Each(1, tokens(0, 64), d.must("they are in the vocabulary",
			p.I32(atHistory), p.Local(1), p.I32(4), p.Multiply, p.Add, p.Load, d.Call(abi.ImportVocabSize), p.Less)),
		d.must("with special tokens there are as many or more", tokens(0, 0), tokens(abi.TokenizeAddSpecial|abi.TokenizeParseSpecial, 64), p.I32(1), p.Add, p.Less),
		d.same("an unknown flag", -1, tokens(4, 64)),
		d.same("no text", 0, d.call(abi.ImportTokenize, at, 0, 0, atHistory, 64)))
}

// join puts code together.
func join(code [][]byte) []byte {
	var all []byte
	for _, c := range code {
		all = append(all, c...)
	}
	return all
}
