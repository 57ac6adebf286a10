// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/steadytest"
)

const (
	promptTokens  = 2
	answerTokens  = 60
	plentyOfFuel  = 2_000_000_000
	fewCandidates = 64
)

// TestRewrite_Examples_BehaveTheSame runs some example plugins, each in `make test-long`, as they
// were built beside what the rewriter made of them, through a whole answer: same answers, same
// words to the host, same memory after each call.
func TestRewrite_Examples_BehaveTheSame(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.wasm", "*/*.wasm"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "..", "build", "plugins", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no plugin is built: run `make plugins` first")
	}
	for _, file := range steadytest.Some(t, files, 6) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			wasm, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			newPair(t, wasm).answer()
		})
	}
}

// pair is a plugin twice, each with a host of its own.
type pair struct {
	*testing.T
	plain, metered api.Module
	meter          *Meter
	hosts          [2]*penstock
	calls          int
	implements     []string // the exports that the manifest lists; nil: it is not known yet, or lists none
}

func newPair(t *testing.T, wasm []byte) *pair {
	ctx, r := t.Context(), newRuntime(t)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	compiled, err := r.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	offerPenstock(t, r, compiled.ImportedFunctions())
	live := instantiate(t, r, wasm)
	live.hungry(100)
	p := &pair{T: t, plain: plainInstance(t, r, wasm), metered: live, meter: live.meter}
	for i := range p.hosts {
		p.hosts[i] = &penstock{history: []uint32{'h', 'i'}, bound: map[uint32][2]uint32{}}
	}
	return p
}

// call calls an export of both, if they have it, and wants the same. It returns the answer, or
// absent.
func (p *pair) call(export string, args ...uint64) int32 {
	p.Helper()
	const absent = 0
	if p.plain.ExportedFunction(export) == nil || p.implements != nil && !slices.Contains(p.implements, export) {
		return absent
	}
	p.calls++
	p.meter.Fill(plentyOfFuel, testStack, time.Now())
	var answers [2][]uint64
	for i, m := range []api.Module{p.plain, p.metered} {
		ctx := WithMeter(context.WithValue(p.Context(), penstockKey{}, p.hosts[i]), p.meter)
		results, err := m.ExportedFunction(export).Call(ctx, args...)
		if err != nil {
			p.Fatalf("%s%v: %v", export, args, err)
		}
		answers[i] = results
	}
	if used := plentyOfFuel - p.meter.Left(); used <= 0 {
		p.Errorf("%s used %d units", export, used)
	}
	a, _ := p.plain.Memory().Read(0, p.plain.Memory().Size())
	b, _ := p.metered.Memory().Read(0, p.metered.Memory().Size())
	if !slices.Equal(answers[0], answers[1]) || !slices.Equal(p.hosts[0].said, p.hosts[1].said) || !bytes.Equal(a, b) {
		p.Fatalf("%s%v, call %d: answers %v, words to the host %q, memory the same: %v", export, args, p.calls, answers, [2][]string{p.hosts[0].said, p.hosts[1].said}, bytes.Equal(a, b))
	}
	if len(answers[0]) == 0 {
		return absent
	}
	return int32(answers[0][0])
}

// answer calls all a plugin has, as a host would for an answer.
func (p *pair) answer() {
	for _, export := range []string{abi.ExportInitialize, abi.ExportDescribe, abi.ExportWarm, abi.ExportOpen} {
		if code := p.call(export); code != 0 {
			p.Fatalf("%s answers %d: %q", export, code, p.hosts[0].said)
		}
		if export == abi.ExportDescribe {
			p.readManifest()
		}
	}
	p.call(abi.ExportTemplate)
	r := rand.New(rand.NewPCG(1, 1))
	for n := range answerTokens {
		token := p.choose(p.call(abi.ExportPrepare), r)
		p.tell(func(h *penstock) { h.history = append(h.history, token) })
		if p.call(abi.ExportAccept, uint64(token)) == abi.AcceptSplice {
			p.splice()
		}
		p.write(abi.BufferText, []byte(pieces[token]))
		p.call(abi.ExportStop, uint64(token), uint64(len(pieces[token])))
		if n%20 == 19 {
			p.tell(func(h *penstock) { h.history = h.history[:len(h.history)-min(3, len(h.history)-promptTokens)] })
			p.call(abi.ExportRewind, uint64(len(p.hosts[0].history)))
		}
	}
	p.call(abi.ExportClose)
	p.Logf("%d calls, %d words to the host", p.calls, len(p.hosts[0].said))
}

// readManifest takes from what the plugin has emitted which calls it implements.
func (p *pair) readManifest() {
	text := ""
	for _, said := range p.hosts[0].said {
		part, _ := strings.CutPrefix(said, "emit ")
		text += part
	}
	var manifest struct{ Implements []string }
	if err := json.Unmarshal([]byte(text), &manifest); err != nil {
		p.Fatalf("the manifest: %v: %s", err, text)
	}
	p.implements = manifest.Implements
}

// choose gives the plugin its view and draws a token that its mask allows.
func (p *pair) choose(prepared int32, r *rand.Rand) uint32 {
	logits := make([]byte, 0, 4*len(pieces))
	for range pieces {
		logits = binary.LittleEndian.AppendUint32(logits, math.Float32bits(float32(4*r.NormFloat64())))
	}
	switch h := p.hosts[0]; {
	case h.bound[abi.BufferLogits][1] > 0:
		p.write(abi.BufferLogits, logits)
		p.call(abi.ExportSample, uint64(len(pieces)))
	case h.bound[abi.BufferCandidates][1] > 0:
		at := h.bound[abi.BufferCandidates]
		n := min(fewCandidates, at[1]/8) // an id and a logit each
		var view []byte
		for id := range n {
			view = binary.LittleEndian.AppendUint32(view, id)
		}
		p.write(abi.BufferCandidates, view)
		p.writeAt(at[0]+at[1]/2, logits[:4*n])
		p.call(abi.ExportSample, uint64(n))
	}
	allowed := []uint32{'a', 'b', 'c', ' ', 256, 257, 258}
	if prepared&abi.PrepareMask != 0 {
		allowed = allowed[:0]
		mask, _ := p.plain.Memory().Read(p.hosts[0].bound[abi.BufferMask][0], uint32(len(pieces)+31)/32*4)
		for i := 0; i < len(mask); i += 4 {
			for word := binary.LittleEndian.Uint32(mask[i:]); word != 0; word &= word - 1 {
				if token := 8*i + bits.TrailingZeros32(word); token < len(pieces) { // the host ignores the others
					allowed = append(allowed, uint32(token))
				}
			}
		}
	}
	return allowed[r.IntN(len(allowed))]
}

// splice does what the plugin wrote into its buffer.
func (p *pair) splice() {
	b, _ := p.plain.Memory().Read(p.hosts[0].bound[abi.BufferSplice][0], 8)
	back := int(binary.LittleEndian.Uint32(b))
	p.tell(func(h *penstock) { h.history = h.history[:len(h.history)-back] })
	n := binary.LittleEndian.Uint32(b[4:])
	forced, _ := p.plain.Memory().Read(p.hosts[0].bound[abi.BufferSplice][0]+8, 4*n)
	for forced = bytes.Clone(forced); len(forced) > 0; forced = forced[4:] {
		token := binary.LittleEndian.Uint32(forced)
		p.tell(func(h *penstock) { h.history = append(h.history, token) })
		p.call(abi.ExportAccept, uint64(token))
	}
}

func (p *pair) tell(what func(*penstock)) {
	for _, h := range p.hosts {
		what(h)
	}
}

// write fills a buffer of both, if it is bound.
func (p *pair) write(kind uint32, b []byte) {
	if at := p.hosts[0].bound[kind]; at[1] > 0 {
		p.writeAt(at[0], b)
	}
}

func (p *pair) writeAt(at uint32, b []byte) {
	if !p.plain.Memory().Write(at, b) || !p.metered.Memory().Write(at, b) {
		p.Fatalf("%d bytes at %d are outside the memory", len(b), at)
	}
}
