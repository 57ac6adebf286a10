// SPDX-License-Identifier: MIT

package plugintest

import (
	"encoding/binary"
	"reflect"
	"strings"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Host answers what a plugin asks, and keeps what it says.
type Host struct {
	Request
	History []penstock.Token
	Logs    []string
	Emitted []byte
	Refusal string // what the plugin gave as the reason of an error
	Unbound bool   // buffers are refused, as they are outside penstock_open

	buffers [abi.BufferText + 1][]byte
	nth     uint64 // draws since the last call
}

// Imports are the host functions. Pointers are to the guest's memory.
func (h *Host) Imports() abi.Host { return imports{h: h} }

// imports is apart from Host since both have a Config.
type imports struct {
	abi.Absent // no grammars
	h          *Host
}

// give writes a text if it fits.
func give(text string, to unsafe.Pointer, limit int32) int32 {
	if len(text) <= int(limit) {
		copy(unsafe.Slice((*byte)(to), limit), text)
	}
	return int32(len(text))
}

func giveTokens(tokens []penstock.Token, to unsafe.Pointer, limit int32) int32 {
	if len(tokens) <= int(limit) {
		copy(unsafe.Slice((*penstock.Token)(to), limit), tokens)
	}
	return int32(len(tokens))
}

func take(from unsafe.Pointer, size int32) string {
	return strings.Clone(unsafe.String((*byte)(from), size))
}

// Config implements abi.Host.
func (i imports) Config(p unsafe.Pointer, limit int32) int32 {
	if i.h.Request.Config == "" {
		return give("{}", p, limit)
	}
	return give(i.h.Request.Config, p, limit)
}

// Messages implements abi.Host.
func (i imports) Messages(p unsafe.Pointer, limit int32) int32 {
	return give(i.h.Request.Messages, p, limit)
}

// History implements abi.Host.
func (i imports) History(from int32, p unsafe.Pointer, limit int32) int32 {
	at := int(from)
	if at < 0 {
		at = max(0, len(i.h.History)+at)
	}
	return giveTokens(i.h.History[min(at, len(i.h.History)):], p, limit)
}

// Feature implements abi.Host: what this host answers.
func (i imports) Feature(name unsafe.Pointer, size int32) int32 {
	method := strings.ReplaceAll(take(name, size), "_", "")
	t := reflect.TypeFor[abi.Host]()
	for n := range t.NumMethod() {
		if strings.EqualFold(t.Method(n).Name, method) {
			return 1
		}
	}
	return 0
}

// Param implements abi.Host.
func (i imports) Param(kind int32) int64 {
	switch kind {
	case abi.ParamPromptTokens:
		return int64(len(i.h.Prompt))
	case abi.ParamMaxTokens:
		return int64(i.h.MaxTokens)
	case abi.ParamContextSize:
		return int64(i.h.ContextSize)
	case abi.ParamSeed:
		return int64(i.h.Seed)
	}
	return -1
}

// Random implements abi.Host.
func (i imports) Random() int64 {
	x := mix(mix(mix(i.h.Seed)^uint64(len(i.h.History))) ^ i.h.nth)
	i.h.nth++
	return int64(x)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// VocabSize implements abi.Host.
func (i imports) VocabSize() int32 { return int32(len(i.h.Pieces)) }

// Piece implements abi.Host.
func (i imports) Piece(t int32, p unsafe.Pointer, limit int32) int32 {
	if t < 0 || int(t) >= len(i.h.Pieces) {
		return -1
	}
	return give(i.h.Pieces[t], p, limit)
}

// Vocab implements abi.Host.
func (i imports) Vocab(p unsafe.Pointer, limit int32) int32 {
	b := make([]byte, 4, 4*(len(i.h.Pieces)+1))
	at := uint32(0)
	for _, piece := range i.h.Pieces {
		at += uint32(len(piece))
		b = binary.LittleEndian.AppendUint32(b, at)
	}
	return give(string(b)+strings.Join(i.h.Pieces, ""), p, limit)
}

// TokenAttr implements abi.Host.
func (i imports) TokenAttr(t int32) int32 {
	if t < 0 || int(t) >= len(i.h.Pieces) {
		return -1
	}
	return int32(i.h.Attributes[t])
}

// Special implements abi.Host.
func (i imports) Special(kind int32) int32 {
	if t, ok := i.h.Request.Special[penstock.Special(kind)]; ok {
		return t
	}
	return penstock.NoToken
}

// Tokenize implements abi.Host: the longest piece that fits comes first.
func (i imports) Tokenize(text unsafe.Pointer, size, _ int32, p unsafe.Pointer, limit int32) int32 {
	var tokens []penstock.Token
	for rest := take(text, size); rest != ""; {
		best, length := penstock.NoToken, 0
		for t, piece := range i.h.Pieces {
			if len(piece) > length && strings.HasPrefix(rest, piece) {
				best, length = penstock.Token(t), len(piece)
			}
		}
		if best == penstock.NoToken {
			return -1
		}
		tokens, rest = append(tokens, best), rest[length:]
	}
	return giveTokens(tokens, p, limit)
}

// Bind implements abi.Host.
func (i imports) Bind(kind int32, p unsafe.Pointer, size int32) int32 {
	if i.h.Unbound || kind < abi.BufferCandidates || kind > abi.BufferText || i.h.buffers[kind] != nil || uintptr(p)%4 != 0 {
		return abi.BindRefused
	}
	i.h.buffers[kind] = unsafe.Slice((*byte)(p), size)
	return abi.BindOk
}

// Emit implements abi.Host.
func (i imports) Emit(p unsafe.Pointer, size int32) {
	i.h.Emitted = append(i.h.Emitted, take(p, size)...)
}

// Fail implements abi.Host.
func (i imports) Fail(p unsafe.Pointer, size int32) { i.h.Refusal = take(p, size) }

// Log implements abi.Host.
func (i imports) Log(_ int32, p unsafe.Pointer, size int32) {
	i.h.Logs = append(i.h.Logs, take(p, size))
}
