// SPDX-License-Identifier: MIT

package plugin

import (
	"log/slog"
	"time"
)

// Options are what the host offers its plugins. Only Vocabulary must be set for plugins that are to work; without one a plugin
// can be loaded and inspected.
type Options struct {
	Vocabulary Vocabulary
	Grammars   Grammars // nil: grammar_open says that there are none
	TopK       TopK     // nil: a portable one
	Observer   Observer // nil: none
	Log        *slog.Logger
	CacheDir   string // compiled code is kept there between runs; empty: in memory
	Limits     Limits // the zero value: DefaultLimits
}

// Vocabulary is the model's. It is safe for concurrent use.
type Vocabulary interface {
	Size() int
	// Piece is the bytes that a token shows; control tokens have none.
	Piece(token int32) string
	// Attributes are the ABI's attribute bits.
	Attributes(token int32) uint32
	// Special is the token of an ABI kind, or -1.
	Special(kind int32) int32
	Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error)
}

// Grammars compiles grammars for plugins. It is safe for concurrent use.
type Grammars interface {
	// Open compiles text of an ABI grammar kind. An error is the text's fault and says where.
	Open(kind int32, text string) (Grammar, error)
}

// Grammar is one compiled grammar with its place in it; not for concurrent use.
type Grammar interface {
	// Mask writes which tokens may come next, in the ABI's layout; mask has (vocabulary + 31) / 32 words.
	Mask(mask []uint32) error
	// Accept moves on by a token. It returns false, and changes nothing, if the token may not come next.
	Accept(token int32) bool
	Close() error
}

// TopK writes the k largest of row and their indices, largest first and equal ones by index, and returns how many there
// are. It leaves out −Inf and NaN. ids and logits have room for k.
type TopK func(row []float32, k int, ids []int32, logits []float32) int

// Observer learns of every call. It must be quick and safe for concurrent use.
type Observer interface {
	PluginCall(plugin, export string, took time.Duration)
	PluginFault(plugin, kind string)
}
