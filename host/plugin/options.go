// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"log/slog"
	"time"

	"github.com/penstock/penstock/scheduler/program"
)

// HostOptions are what the host offers its plugins. Where they have no model, a plugin can be
// loaded and inspected, and used with models that are named later.
type HostOptions struct {
	ModelOptions
	TopK TopK // nil: a portable one
	// FirstInvalid is the index of the first logit of a row that is NaN or +Inf, or −1; nil: a
	// portable one.
	FirstInvalid func(row []float32) int
	Log          *slog.Logger
	LogLines     bool   // Log has the lines that guests log in requests too; they may quote the request
	CacheDir     string // compiled code is kept there between runs; empty: in memory
	Limits       Limits // the zero value: DefaultLimits
	// Interpreter gives the module that runs scripts, a part of this program. Nil: nothing runs them.
	Interpreter func() []byte
}

// ModelOptions are what plugins are offered of the model that they are used with.
type ModelOptions struct {
	Vocabulary Vocabulary // nil: there is no model
	Model      Model
	Grammars   Grammars // nil: grammar_open says that there are none
	Observer   Observer // nil: none
	Replay     Replay   // answers in the place of the host, in a player; nil: nobody does
	Alone      bool     // no other model is ever used: a plugin that fails with it is of no use
}

// Model is what plugins learn about the model, under these names. Unknown fields are zero.
type Model struct {
	Name           string `json:"name,omitempty"`         // as the API knows it
	Architecture   string `json:"architecture,omitempty"` // as its file says
	Description    string `json:"description,omitempty"`  // as its file says
	Digest         string `json:"digest,omitempty"`       // of its file and its control vectors, as the engine tells models apart
	Parameters     uint64 `json:"parameters,omitempty"`   // how many there are
	SizeBytes      uint64 `json:"size_bytes,omitempty"`   // of the weights
	VocabularySize int    `json:"vocabulary_size,omitempty"`
	ContextTrain   int    `json:"context_train,omitempty"` // the longest context it was trained for, in tokens
	EmbeddingSize  int    `json:"embedding_size,omitempty"`
	Layers         int    `json:"layers,omitempty"`
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
	// Open compiles text of an ABI grammar kind, until ctx is done. An error is the text's fault and
	// says where. work is what it took, or would have if it was not known yet, in units of fuel.
	// Others than client do not learn from the time that it takes what client has opened.
	Open(ctx context.Context, client string, kind int32, text string) (g Grammar, work uint64, err error)
}

// Grammar is one compiled grammar with its place in it; not for concurrent use.
type Grammar interface {
	// Mask writes which tokens may come next, in the ABI's layout; mask has (vocabulary + 31) / 32
	// words.
	Mask(mask []uint32) error
	// MaskWithin is Mask without the tokens after which the text cannot be completed with so many
	// tokens in all, the next one included. False: so many do not complete it, and the mask is
	// empty.
	MaskWithin(tokens int, mask []uint32) (bool, error)
	// Rest is how many tokens complete the text at most; ended: nothing may follow.
	Rest() (tokens int, ended bool, err error)
	// Accept moves on by a token. It returns false, and changes nothing, if the token may not come
	// next.
	Accept(token int32) bool
	// Beginning is where the grammar begins, for a branch of a program; nil: branches cannot
	// follow it.
	Beginning() program.GrammarState
	Close() error
}

// TopK writes the k largest of row and their indices, largest first and equal ones by index, and
// returns how many there are. It leaves out −Inf and NaN. ids and logits have room for k.
type TopK func(row []float32, k int, ids []int32, logits []float32) int

// Observer learns of every call. It and what it returns must be quick and safe for concurrent use.
type Observer interface {
	// PluginCalls returns what is told the time of each call of an export. An instance asks once
	// for each export.
	PluginCalls(plugin, export string) func(took time.Duration)
	PluginFault(plugin, kind string)
}
