// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// vocabularyFunctions are the imports about the vocabulary.
var vocabularyFunctions = map[string]hostFunction{
	abi.ImportVocabSize: func(i *Instance, _ *call) uint64 { return uint64(i.module.Env.Vocabulary.Size()) },
	abi.ImportPiece:     hostPiece,
	abi.ImportVocab:     func(i *Instance, c *call) uint64 { return c.write(i, 1, i.module.Env.vocab()) },
	abi.ImportTokenAttr: hostTokenAttr,
	abi.ImportSpecial:   func(i *Instance, c *call) uint64 { return i32(i.module.Env.Vocabulary.Special(c.i32(0))) },
	abi.ImportTokenize:  hostTokenize,
}

// known reports whether a parameter is a token.
func (i *Instance) known(token int32) bool {
	return uint64(uint32(token)) < uint64(i.module.Env.Vocabulary.Size())
}

func hostPiece(i *Instance, c *call) uint64 {
	if !i.known(c.i32(0)) {
		return i32(-1)
	}
	return c.text(i, i.module.Env.Vocabulary.Piece(c.i32(0)))
}

func hostTokenAttr(i *Instance, c *call) uint64 {
	if !i.known(c.i32(0)) {
		return i32(-1)
	}
	return uint64(i.module.Env.Vocabulary.Attributes(c.i32(0)))
}

func hostTokenize(i *Instance, c *call) uint64 {
	const known = abi.TokenizeAddSpecial | abi.TokenizeParseSpecial
	text, flags := c.in[0], c.u32(2)
	if flags&^uint32(known) != 0 || len(text) > abi.LimitTokenizeBytes {
		return i32(-1)
	}
	tokens, err := i.module.Env.Vocabulary.Tokenize(cleanText(text), flags&abi.TokenizeAddSpecial != 0, flags&abi.TokenizeParseSpecial != 0)
	if c.err = err; err != nil {
		i.session.log.add(abi.LogWarn, []byte("tokenize: "+err.Error()))
		return i32(-1)
	}
	return c.write(i, 4, bytesOf(tokens))
}

// cleanText copies text out of guest memory and replaces invalid UTF-8.
func cleanText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// layVocab builds what vocab gives: offsets, then the bytes of all pieces.
func (e *Environment) layVocab() []byte {
	n := e.Vocabulary.Size()
	table := make([]byte, 4*(n+1))
	var text []byte
	for t := range n {
		text = append(text, e.Vocabulary.Piece(int32(t))...)
		binary.LittleEndian.PutUint32(table[4*(t+1):], uint32(len(text)))
	}
	return append(table, text...)
}
