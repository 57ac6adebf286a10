// SPDX-License-Identifier: MIT

package compile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) {
	spawn.Run(Child())
	goleak.VerifyTestMain(m)
}

// newGuest is a guest of that name.
func newGuest(name string) *asm.Guest { return asm.New(`{"name":"` + name + `"}`) }

// newCompiler keeps code in a folder, and has time for machines under load. What it logs is in the
// buffer.
func newCompiler(t *testing.T, dir string, change ...func(*fuel.Limits)) (*Compiler, *bytes.Buffer) {
	t.Helper()
	log, limits := &bytes.Buffer{}, fuel.DefaultLimits()
	for _, c := range change {
		c(&limits)
	}
	return New(dir, limits, time.Hour, slog.New(slog.NewTextHandler(log, nil))), log
}

func compile(ctx context.Context, c *Compiler, wasm []byte) (*Code, error) {
	return c.Compile(ctx, wasm, sha256.Sum256(wasm))
}

// running is a compiled guest that runs, with no host functions but emit.
type running struct {
	*Code
	guest   api.Module
	ctx     context.Context
	meter   *fuel.Meter
	emitted []byte
}

// run compiles a guest and makes an instance of it.
func run(t *testing.T, c *Compiler, g *asm.Guest) *running {
	t.Helper()
	code, err := compile(t.Context(), c, g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	must.Close(t, code)
	r := &running{Code: code}
	must.Do(t, fuel.Offer(t.Context(), code.Runtime))
	emit := api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
		text, _ := m.Memory().Read(uint32(stack[0]), uint32(stack[1]))
		r.emitted = append(r.emitted, text...)
	})
	host := code.Runtime.NewHostModuleBuilder(abi.Module).NewFunctionBuilder()
	must.Get(host.WithGoModuleFunction(emit, []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}, nil).Export(abi.ImportEmit).Instantiate(t.Context()))(t)
	if r.guest, err = code.Runtime.InstantiateModule(t.Context(), code.Compiled, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	if r.meter, err = fuel.NewMeter(r.guest); err != nil {
		t.Fatal(err)
	}
	r.ctx = fuel.WithMeter(context.Background(), r.meter)
	return r
}

// accept calls the guest's accept.
func (r *running) accept(token int32) (int32, error) {
	r.meter.Fill(1e6, 1<<16, time.Now())
	answer, err := r.guest.ExportedFunction(abi.ExportAccept).Call(r.ctx, uint64(uint32(token)))
	if err != nil {
		return 0, err
	}
	return int32(uint32(answer[0])), nil
}
