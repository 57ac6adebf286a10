// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// This file has the host functions about the vocabulary. See docs/abi/v1.md.

func hostVocabSize(i *Instance, s []uint64) { s[0] = uint64(i.module.Env.Vocabulary.Size()) }

// known reports whether a parameter is a token.
func (i *Instance) known(token uint64) bool {
	return uint64(uint32(token)) < uint64(i.module.Env.Vocabulary.Size())
}

func hostPiece(i *Instance, s []uint64) {
	if !i.known(s[0]) {
		s[0] = i32(-1)
		return
	}
	piece := i.module.Env.Vocabulary.Piece(int32(uint32(s[0])))
	i.write(s, s[1], s[2], 1, unsafe.Slice(unsafe.StringData(piece), len(piece)))
}

func hostVocab(i *Instance, s []uint64) {
	i.pauseBefore()
	i.write(s, s[0], s[1], 1, i.module.Env.vocab())
}

func hostTokenAttr(i *Instance, s []uint64) {
	if !i.known(s[0]) {
		s[0] = i32(-1)
		return
	}
	s[0] = uint64(i.module.Env.Vocabulary.Attributes(int32(uint32(s[0]))))
}

func hostSpecial(i *Instance, s []uint64) {
	s[0] = i32(i.module.Env.Vocabulary.Special(int32(uint32(s[0]))))
}

// What tokenizing costs: a call, and each byte of text.
const (
	tokenizeFuel     = 10_000
	tokenizeByteFuel = 256
)

func hostTokenize(i *Instance, s []uint64) {
	const known = abi.TokenizeAddSpecial | abi.TokenizeParseSpecial
	i.pauseBefore()
	text := i.bytesAt(uint64(uint32(s[0])), uint64(uint32(s[1])))
	if !i.meter.Charge(tokenizeFuel + tokenizeByteFuel*uint64(len(text))) {
		panic(Violationf(plugin.CauseFuel, "in tokenize, of %d bytes", len(text)))
	}
	if uint32(s[2])&^uint32(known) != 0 || len(text) > abi.LimitTokenizeBytes {
		s[0] = i32(-1)
		return
	}
	clean, flags := cleanText(text), uint32(s[2])
	tokens, err := i.module.Env.Vocabulary.Tokenize(clean, flags&abi.TokenizeAddSpecial != 0, flags&abi.TokenizeParseSpecial != 0)
	i.asked(Question{Import: abi.ImportTokenize, Text: clean, Flags: flags, Tokens: tokens, Err: err})
	if err != nil {
		i.session.log.add(abi.LogWarn, []byte("tokenize: "+err.Error()))
		s[0] = i32(-1)
		return
	}
	i.write(s, s[3], s[4], 4, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(tokens))), 4*len(tokens)))
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
