// SPDX-License-Identifier: MIT

package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
)

// notes follow a guest's calls and write them down. It is a guest.Watcher.
type notes struct {
	view       load.View
	vocabulary int    // tokens
	sampling   string // the parameters when the answer began, as JSON
	take       func(Call) bool

	call *Call // what is going on; nil: nothing that is written down
	made bool  // the guest was called
	over bool  // nothing is written down any more
	step int   // bytes that the deeds of a program's step have
	held int   // bytes of all deeds of the call
}

// begin begins a call.
func (n *notes) begin(c Call) {
	n.call, n.made, n.held = &c, false, 0
}

// end writes the call down. A call that was not made is written down with always only.
func (n *notes) end(always bool) {
	c := n.call
	n.call = nil
	if c == nil || n.over || !n.made && !always && c.Fault == nil {
		return
	}
	if !n.take(*c) || c.over() {
		n.over = true
	}
}

// refused writes down the refusal that a call ended with, if it did.
func (n *notes) refused(err error) {
	var refusal *plugin.Refusal
	if errors.As(err, &refusal) && n.call != nil {
		n.call.Refusal = &refusal.Message
	}
}

// Calling implements guest.Watcher.
func (n *notes) Calling(e guest.Export, a, b int32, buffers *guest.Buffers) {
	c := n.call
	if c == nil {
		return
	}
	switch {
	case e == guest.Sample && n.view == load.ViewCandidates:
		ids, logits := buffers.Candidates()
		c.IDs, c.Logits = slices.Clone(ids[:a]), slices.Clone(logits[:a])
	case e == guest.Sample && n.view == load.ViewLogits:
		c.Logits = slices.Clone(buffers.Logits()[:n.vocabulary])
	case e == guest.Stop:
		if n.made { // text that is longer than the guest's buffer comes in several calls
			n.end(true)
			n.begin(Call{Call: CallStop})
			c = n.call
		}
		text := Text(buffers.Text()[:b])
		c.Token, c.Text = &a, &text
	}
	n.made = true
}

// Answered implements guest.Watcher.
func (n *notes) Answered(e guest.Export, answer int32, buffers *guest.Buffers) {
	c := n.call
	if c != nil && e == guest.Run {
		c.Call = CallRun
	}
	if c == nil || exportOf[c.Call] != e {
		return
	}
	c.Answer = &answer
	switch {
	case e == guest.Prepare:
		n.prepared(c, answer, buffers)
	case e == guest.Accept && answer == abi.AcceptSplice && buffers.Bound(abi.BufferSplice):
		c.Splice = spliceOf(buffers)
	case e == guest.Sample && answer == abi.SampleBiased && buffers.Bound(abi.BufferBias):
		c.Bias = biasesOf(buffers.Bias())
	case e == guest.Sample && answer == abi.SampleEdited && n.view == load.ViewCandidates:
		ids, logits := buffers.Candidates()
		c.Left = &Left{IDs: slices.Clone(ids[:len(c.IDs)]), Logits: slices.Clone(logits[:len(c.IDs)])}
	case e == guest.Sample && answer == abi.SampleEdited && n.view == load.ViewLogits:
		c.Left = leftRow(buffers.Logits()[:n.vocabulary])
	}
}

// exportOf are the calls with an answer that is written down.
var exportOf = map[string]guest.Export{
	CallPrepare: guest.Prepare, CallSample: guest.Sample, CallAccept: guest.Accept, CallStop: guest.Stop, CallRun: guest.Run,
}

// prepared writes down what prepare says it filled.
func (n *notes) prepared(c *Call, bits int32, b *guest.Buffers) {
	if bits&abi.PrepareMask != 0 && b.Bound(abi.BufferMask) {
		words := slices.Clone(b.Mask(n.vocabulary))
		if rest := n.vocabulary % 32; rest != 0 {
			words[len(words)-1] &= 1<<rest - 1
		}
		c.Mask = NewMask(words, n.vocabulary)
	}
	if bits&abi.PrepareBias != 0 && b.Bound(abi.BufferBias) {
		c.Bias = biasesOf(b.Bias())
	}
	if bits&abi.PrepareForce != 0 && b.Bound(abi.BufferSplice) {
		c.Force = spliceOf(b).Tokens
	}
}

// biasesOf reads a bias buffer, as much as it has.
func biasesOf(b []byte) []Bias {
	count := min(int64(binary.LittleEndian.Uint32(b)), int64(len(b)-4)/8)
	list := make([]Bias, count)
	for i := range list {
		entry := b[4+8*i:]
		list[i] = Bias{int32(binary.LittleEndian.Uint32(entry)), math.Float32frombits(binary.LittleEndian.Uint32(entry[4:]))}
	}
	return list
}

// spliceOf reads a splice buffer, as much as it has.
func spliceOf(b *guest.Buffers) *Splice {
	w := b.Splice()
	s := &Splice{Backtrack: int(w[0])}
	for _, t := range w[2 : 2+min(int(w[1]), len(w)-2)] {
		s.Tokens = append(s.Tokens, int32(t))
	}
	return s
}

// shownBest is how many of the best entries of a row are written down beside its digest.
const shownBest = 16

// leftRow is what is written down of a row: all of it if a person could read it, else its digest.
func leftRow(row Logits) *Left {
	if len(row) <= readable {
		return &Left{Logits: slices.Clone(row)}
	}
	l := &Left{SHA256: row.digest()}
	for range shownBest {
		best, highest := int32(0), float32(math.Inf(-1))
		for i, x := range row {
			if x > highest && !slices.Contains(l.IDs, int32(i)) {
				best, highest = int32(i), x
			}
		}
		l.IDs, l.Logits = append(l.IDs, best), append(l.Logits, highest)
	}
	return l
}

// mostStep is how much the deeds of a program's step count before another begins.
const mostStep = 64 << 10

// mostHeld is how many bytes the deeds of one call have at most. A call can ask for very little
// very often, and a recording counts its bytes only when it is over.
const mostHeld = 32 << 20

// Did implements guest.Watcher.
func (n *notes) Did(g *plugin.Deed) {
	c := n.call
	switch {
	case c == nil || n.over:
		return
	case g.Import == abi.ImportOutput:
		var compact bytes.Buffer
		if g.Answer == abi.OutputOk && json.Compact(&compact, []byte(g.Text)) == nil {
			c.Outputs = append(c.Outputs, compact.Bytes())
		}
		return
	case g.Import == abi.ImportRequest && sampling(g.Gave.Text) == n.sampling:
		return
	}
	d := deedOf(g, n.vocabulary)
	if n.held += sizeOf(reflect.ValueOf(&d)); n.held > mostHeld {
		c.Endless = true
		return
	}
	c.Deeds = append(c.Deeds, d)
	if c.Call != CallStep || d.Failed {
		return
	}
	if d.ofProgram() { // what is asked beside does not end a step
		n.step += d.inStep()
	}
	if d.Do == abi.ImportBranchesWait || n.step > mostStep {
		n.end(true)
		n.step = 0
		n.begin(Call{Call: CallStep})
		n.made = true
	}
}

// sampling are the parameters in what the import request told.
func sampling(told string) string {
	var parts struct {
		Sampling json.RawMessage `json:"sampling"`
	}
	if json.Unmarshal([]byte(told), &parts) != nil {
		return "{}"
	}
	return string(parts.Sampling)
}

// Failed implements guest.Watcher.
func (n *notes) Failed(f *plugin.Fault) {
	switch {
	case n.call == nil:
	case errors.Is(f, plugin.CauseCancelled): // the request ended in the middle of it
		n.call, n.over = nil, true
	default:
		if n.call.Call == CallStep {
			n.call.Call = CallRun
		}
		n.call.Fault = &Fault{Export: f.Export, Kind: f.Kind(), Detail: f.Detail}
	}
}
