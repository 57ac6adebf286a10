// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Token is the id of a token.
type Token = int32

// NoToken stands where there is no token.
const NoToken Token = -1

// Config is the request's configuration for this plugin. The host has checked it against the manifest's schema; it is an
// empty object if the request gave none.
func Config() (json.Value, error) {
	return json.Parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Config(p, limit) }))
}

// Messages is the conversation, a JSON list; package template reads it for a template plugin. Elsewhere it is empty.
func Messages() []byte {
	return read(func(p unsafe.Pointer, limit int32) int32 { return abi.Messages(p, limit) })
}

// read asks with a small buffer first and again with the right one. TinyGo cannot pass an import itself as a function.
func read(from func(unsafe.Pointer, int32) int32) []byte {
	text := make([]byte, 512)
	for {
		n := from(unsafe.Pointer(&text[0]), int32(len(text)))
		if int(n) <= len(text) {
			return text[:n]
		}
		text = make([]byte, n)
	}
}

// History appends to buffer[:0] all tokens so far, prompt first. In Prepare and Sample these are the tokens accepted
// before, in Accept and Stop the token in question is the last. Pass the last result to reuse its memory.
func History(buffer []Token) []Token { return HistoryFrom(0, buffer) }

// HistoryFrom is History from a token on, 0 being the prompt's first; a negative number counts back from the end, so that
// HistoryFrom(-1, buffer) is the last token. It costs what it copies and not the whole history.
func HistoryFrom(from int, buffer []Token) []Token {
	if cap(buffer) == 0 {
		buffer = make([]Token, 0, 256)
	}
	for {
		buffer = buffer[:cap(buffer)]
		n := int(abi.History(int32(from), unsafe.Pointer(&buffer[0]), int32(len(buffer))))
		if n <= len(buffer) {
			return buffer[:n]
		}
		buffer = make([]Token, n+n/2)
	}
}

// HistoryLen is how many tokens there are so far. It copies nothing.
func HistoryLen() int {
	var none Token
	return int(abi.History(0, unsafe.Pointer(&none), 0))
}

// Feature reports whether the host knows an import or export of the ABI by its name. Ask before calling what the host may be
// too old for; such an import is declared under "//go:wasmimport penstock-optional NAME".
func Feature(name string) bool {
	return abi.Feature(unsafe.Pointer(unsafe.StringData(name)), int32(len(name))) == 1
}

// PromptTokens is how many tokens the prompt has.
func PromptTokens() int { return int(abi.Param(abi.ParamPromptTokens)) }

// MaxTokens is how many tokens may be generated at most.
func MaxTokens() int { return int(abi.Param(abi.ParamMaxTokens)) }

// ContextSize is how many tokens, prompt included, the model can take.
func ContextSize() int { return int(abi.Param(abi.ParamContextSize)) }

// Seed is the seed of the choice that this instance serves.
func Seed() uint64 { return uint64(abi.Param(abi.ParamSeed)) }
