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
	Failed(f *plugin.Fault)
	// Did comes after a call of a host function that the ABI's table has recorded.
	Did(d *plugin.Deed)
}

// mostKept bounds what is kept of the deeds of a warm-up, in bytes.
const mostKept = 1 << 20

// deeds are what a module did when it was warmed. It is a Watcher of that alone.
type deeds struct {
	list  []plugin.Deed
	bytes int
}

func (*deeds) Calling(Export, int32, int32, *Buffers) {}
func (*deeds) Answered(Export, int32, *Buffers)       {}
func (*deeds) Failed(*plugin.Fault)                   {}

func (k *deeds) Did(d *plugin.Deed) {
	if k.bytes += len(d.Text) + len(d.Gave.Text) + 4*len(d.Gave.Tokens) + 64; k.bytes <= mostKept {
		kept := *d
		kept.Gave.Mask = slices.Clone(d.Gave.Mask)
		k.list = append(k.list, kept)
	}
}
