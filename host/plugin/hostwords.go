// SPDX-License-Identifier: MIT

package plugin

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"github.com/penstock/penstock/plugins/abi"
)

// This file has the host functions about the vocabulary. See docs/abi/v1.md.

func hostVocabSize(i *instance, s []uint64) { s[0] = uint64(i.module.runtime.vocabulary.Size()) }

// known tells whether a parameter is a token.
func (i *instance) known(token uint64) bool {
	return uint64(uint32(token)) < uint64(i.module.runtime.vocabulary.Size())
}

func hostPiece(i *instance, s []uint64) {
	if !i.known(s[0]) {
		s[0] = code(-1)
		return
	}
	piece := i.module.runtime.vocabulary.Piece(int32(uint32(s[0])))
	i.deliver(s, s[1], s[2], 1, unsafe.Slice(unsafe.StringData(piece), len(piece)))
}

func hostVocab(i *instance, s []uint64) {
	i.work()
	i.deliver(s, s[0], s[1], 1, i.module.runtime.pieces())
}

func hostTokenAttr(i *instance, s []uint64) {
	if !i.known(s[0]) {
		s[0] = code(-1)
		return
	}
	s[0] = uint64(i.module.runtime.vocabulary.Attributes(int32(uint32(s[0]))))
}

func hostSpecial(i *instance, s []uint64) {
	s[0] = code(i.module.runtime.vocabulary.Special(int32(uint32(s[0]))))
}

// What looking for tokens costs, and each byte of text.
const (
	tokenizeFuel     = 10_000
	tokenizeByteFuel = 256
)

func hostTokenize(i *instance, s []uint64) {
	const flags = abi.TokenizeAddSpecial | abi.TokenizeParseSpecial
	i.work()
	text := i.memory(uint64(uint32(s[0])), uint64(uint32(s[1])))
	if !i.meter.Charge(tokenizeFuel + tokenizeByteFuel*uint64(len(text))) {
		panic(wrong(CauseFuel, "in tokenize, of %d bytes", len(text)))
	}
	if uint32(s[2])&^uint32(flags) != 0 || len(text) > abi.LimitTokenizeBytes {
		s[0] = code(-1)
		return
	}
	tokens, err := i.module.runtime.vocabulary.Tokenize(cleanText(text), s[2]&abi.TokenizeAddSpecial != 0, s[2]&abi.TokenizeParseSpecial != 0)
	if err != nil {
		i.session.capture.add(abi.LogWarn, []byte("tokenize: "+err.Error()))
		s[0] = code(-1)
		return
	}
	i.deliver(s, s[3], s[4], 4, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(tokens))), 4*len(tokens)))
}

// cleanText copies text out of guest memory and replaces what is not UTF-8.
func cleanText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// layPieces builds what vocab gives: offsets, then the bytes of all pieces.
func (r *Runtime) layPieces() []byte {
	n := r.vocabulary.Size()
	table := make([]byte, 4*(n+1))
	var text []byte
	for t := range n {
		text = append(text, r.vocabulary.Piece(int32(t))...)
		binary.LittleEndian.PutUint32(table[4*(t+1):], uint32(len(text)))
	}
	return append(table, text...)
}
