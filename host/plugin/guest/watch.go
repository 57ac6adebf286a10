// SPDX-License-Identifier: MIT

package guest

import (
	"slices"

	"github.com/penstock/penstock/host/plugin"
)

// Watcher learns of what passes between a session's guest and the host, so that it can be written
// down. Its methods are called within the call. What they are given is valid until they return.
type Watcher interface {
	// Calling comes before a call of an export, when the buffers hold what the guest is shown.
	Calling(e Export, a, b int32, buffers *Buffers)
	// Answered comes after it. A fault has Failed instead; one that the host finds in the answer
	// has both.
	Answered(e Export, answer int32, buffers *Buffers)
	// Asked comes after a question to the host whose answer depends on more than the vocabulary's
	// pieces.
	Asked(q Question)
	Failed(f *plugin.Fault)
	// Did comes after what a program has done.
	Did(d *Deed)
}

// Question is a call of tokenize, of request, of output or of a function about grammars, with the
// host's answer.
type Question struct {
	Import string
	Text   string // also the JSON of a value for the client, and of sampling parameters
	Flags  uint32 // of tokenize
	Kind   int32  // of a grammar
	Handle uint32 // of a grammar
	Token  int32
	Tokens []int32
	Mask   []uint32
	State  []float32 // as far as it was given
	Count  int32     // of tokens: within which the text is to be completed, or that complete it
	OK     bool      // the grammar accepts the token, so many tokens complete the text, or it has ended
	Err    error     // why there is no answer
}

// asked tells the watcher, if there is one.
func (i *Instance) asked(q Question) {
	if w := i.session.Watcher; w != nil {
		w.Asked(q)
	}
}

// mostKept bounds what is kept of the questions of a warm-up, in bytes.
const mostKept = 1 << 20

// questions are those that a module asked when it was warmed. It is a Watcher of that alone.
type questions struct {
	list  []Question
	bytes int
}

func (*questions) Calling(Export, int32, int32, *Buffers) {}
func (*questions) Answered(Export, int32, *Buffers)       {}
func (*questions) Failed(*plugin.Fault)                   {}
func (*questions) Did(*Deed)                              {}

func (k *questions) Asked(q Question) {
	if k.bytes += len(q.Text) + 4*len(q.Tokens) + 64; k.bytes <= mostKept {
		q.Tokens = slices.Clone(q.Tokens)
		k.list = append(k.list, q)
	}
}
