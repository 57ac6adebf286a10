// SPDX-License-Identifier: MIT

package guest

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The words of package asm, short: most of a test here is a guest's code.
var (
	i32c  = asm.I32
	i64c  = asm.I64
	local = asm.Local
	poke  = asm.Poke

	drop        = asm.Drop
	unreachable = asm.Unreachable
	store       = asm.Store
	store64     = asm.Store64
	grow        = asm.GrowMemory
	forever     = asm.Forever
)

// atMask is where guests of tests bind their masks: 4 words.
const atMask = hosttest.AtBuffer

func newTestHost(_ testing.TB, change ...func(*plugin.HostOptions)) *Environment {
	return NewEnvironment(hosttest.Options(change...))
}

// mustLoad makes a warmed module of a guest.
func mustLoad(t testing.TB, h *Environment, g *asm.Guest) *Module {
	t.Helper()
	m := mustCompile(t, h, g)
	m.Name = "guest"
	must.Do(t, m.Warm(t.Context()))
	return m
}

// mustCompile makes a module of a guest, of which nothing has run.
func mustCompile(t testing.TB, h *Environment, g *asm.Guest) *Module {
	t.Helper()
	wasm := g.Wasm()
	code := must.Get(compile.New("", h.Limits.Module, time.Hour, slog.New(slog.DiscardHandler)).Compile(t.Context(), wasm, sha256.Sum256(wasm)))(t)
	m := must.Get(New(t.Context(), h, code))(t)
	t.Cleanup(m.Close)
	return m
}

// user uses an instance as package stage does.
type user struct {
	*Instance
	over chan struct{}
}

// use opens an instance of a new guest after a prompt.
func use(t testing.TB, g *asm.Guest, prompt ...int32) *user {
	t.Helper()
	return useOf(t, mustLoad(t, newTestHost(t), g), plugin.RequestInfo{Seed: 7, MaxTokens: 50, ContextSize: 1000}, prompt...)
}

func useOf(t testing.TB, m *Module, r plugin.RequestInfo, prompt ...int32) *user {
	t.Helper()
	u := begin(t, m, r, prompt...)
	must.Do(t, u.open())
	return u
}

// begin makes an instance that is not open yet.
func begin(t testing.TB, m *Module, r plugin.RequestInfo, prompt ...int32) *user {
	t.Helper()
	u := &user{over: make(chan struct{})}
	s := m.NewSession(&r)
	s.History, s.Done = slices.Clone(prompt), u.over
	s.Params[abi.ParamPromptTokens] = int64(len(prompt))
	u.Instance = must.Get(m.NewInstance(t.Context(), s))(t)
	t.Cleanup(func() {
		if err := u.Close(true); err != nil {
			t.Error(err)
		}
	})
	return u
}

func (u *user) open() error {
	if !u.module.Has(Open) {
		return nil
	}
	answer, err := u.Call(Open, 0, 0)
	if err == nil && answer != 0 {
		return u.Refusal(Open)
	}
	return err
}

// openLater opens an instance in a goroutine.
func openLater(t *testing.T, m *Module) (*user, <-chan error) {
	t.Helper()
	u := begin(t, m, plugin.RequestInfo{}, 1)
	opened := make(chan error, 1)
	go func() { opened <- u.open() }()
	return u, opened
}

func (u *user) interrupt() { close(u.over) }

func (u *user) prepare() (int32, error) { return u.Call(Prepare, 0, 0) }

func (u *user) accept(token int32) (int32, error) {
	u.session.History = append(u.session.History, token)
	return u.Call(Accept, token, 0)
}

// peek reads an i32 of a guest.
func peek(u *user, at int) int32 { return int32(binary.LittleEndian.Uint32(u.Memory()[at:])) }

// wasiCall is the code of a call of a WASI function.
func wasiCall(g *asm.Guest, name string) []byte {
	f := wasi[slices.IndexFunc(wasi, func(f wasiFunction) bool { return f.name == name })]
	return g.CallOf(abi.Signature{Name: wasiModule + "." + name, Params: typeNames(wasiTypes(f.params)), Results: typeNames(wasiTypes(f.results))})
}

// returnsLong tells whether a host function's result is an i64.
func returnsLong(name string) bool {
	i := slices.IndexFunc(abi.Imports, func(s abi.Signature) bool { return s.Name == name })
	return abi.Imports[i].Results[0] == "i64"
}
