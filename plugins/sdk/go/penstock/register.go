// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Registration is the result of Register, so that the call can be made at package level.
type Registration struct{}

// Register makes T the plugin: a type with some of the methods that this package has interfaces
// for, at least one of them beside Open, Warm, Rewind and Close. Call it once, at package level or
// in init:
//
//	var _ = penstock.Register[T](penstock.Manifest{Name: "…"})
func Register[T any](m Manifest) Registration {
	p := &guest.Plugin{Name: m.Name, New: func() any { return new(T) }}
	p.Manifest = func() ([]byte, string) { return describe(&m, new(T)) }
	p.Begin = func() { begin(&m, new(T)) }
	guest.Registered, p.Before = p, guest.Registered
	p.Begin()
	return Registration{}
}

var (
	manifest *Manifest
	opener   Opener // nil where the type has no such method; so are the others
)

// begin makes a value the current plugin.
func begin(m *Manifest, value any) {
	manifest = m
	opener, _ = value.(Opener)
	guest.Open = open
	beginLife(value)
	beginNext(value)
	beginAccept(value)
	beginStop(value)
	beginFilter(value)
	beginSample(value)
	beginRun(value)
}

func beginLife(value any) {
	guest.Warm, guest.Plan, guest.Close, guest.Rewind, guest.Render = nil, nil, nil, nil, nil
	if w, ok := value.(Warmer); ok {
		guest.Warm = func() int32 { return refuse(w.Warm(ReadVocabulary())) }
	}
	if p, ok := value.(Planner); ok {
		guest.Plan = func() int32 { return refuse(makePlan(p, value)) }
	}
	if c, ok := value.(Closer); ok {
		guest.Close = c.Close
	}
	if r, ok := value.(Rewinder); ok {
		guest.Rewind = func(size int32) int32 { return refuse(r.Rewind(int(size))) }
	}
	guest.Rewrite, guest.Draft = nil, nil
	if r, ok := value.(Rewriter); ok {
		guest.Rewrite = func() int32 { return rewrite(r) }
	}
	if d, ok := value.(Drafter); ok {
		guest.Draft = func(n int32) int32 { return draft(d, n) }
	}
	if r, ok := value.(Renderer); ok {
		guest.Render = func() int32 { return render(r) }
	}
}

// open begins a request: it allocates the buffers that the plugin's methods need, and passes the
// request on.
func open() int32 {
	for _, bind := range [...]func() bool{bindNext, bindSplice, bindText, bindView} {
		if !bind() {
			return refuse(errBind)
		}
	}
	if opener == nil {
		return 0
	}
	r, err := readRequest()
	if err != nil {
		return refuse(err)
	}
	return refuse(opener.Open(r))
}

// refuse passes the text of an error to the host and returns the answer that means it; 0 without an
// error.
func refuse(err error) int32 {
	if err == nil {
		return 0
	}
	text := []byte(err.Error())
	abi.Fail(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text)))
	return 1
}

func emit(text []byte) { abi.Emit(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text))) }
