// SPDX-License-Identifier: MIT

package fuel

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// stockGo builds testdata/go with the toolchain that runs the tests.
func stockGo(t testing.TB) []byte {
	return build(t, "go", []string{"GOOS=wasip1", "GOARCH=wasm"}, "build", "-buildmode=c-shared", "-o", "OUT", "./testdata/go")
}

// rustTargets are the features that the Rust guest is built with.
var rustTargets = map[string]string{"rust": "", "rust-simd": "-Ctarget-feature=+simd128"}

func rust(t testing.TB, feature string) []byte {
	compiler := rustc()
	if compiler == "" {
		t.Fatal("no rustc with the target wasm32-unknown-unknown: `scripts/setup.sh rust` installs it")
	}
	args := strings.Fields("--edition 2021 --crate-type cdylib --target wasm32-unknown-unknown -Awarnings -Copt-level=3 -Cpanic=abort -Ccodegen-units=1 -Clto=fat")
	return build(t, compiler, nil, append(append(args, strings.Fields(feature)...), "-o", "OUT", "testdata/rust/guest.rs")...)
}

// rustc finds a compiler that has the target's library.
func rustc() string {
	for _, name := range []string{os.Getenv("RUSTC"), "rustc", "/usr/bin/rustc"} {
		root, err := exec.Command(name, "--print", "sysroot").Output()
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib/rustlib/wasm32-unknown-unknown/lib")); err == nil {
			return name
		}
	}
	return ""
}

func build(t testing.TB, name string, env []string, args ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	args = slices.Clone(args)
	args[slices.Index(args, "OUT")] = out
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// guests are the modules of the differential tests.
func guests(t *testing.T, each func(t *testing.T, wasm []byte)) {
	t.Run("go", func(t *testing.T) { each(t, stockGo(t)) })
	for name, feature := range rustTargets {
		t.Run(name, func(t *testing.T) { each(t, rust(t, feature)) })
	}
}

// plainInstance instantiates a module as it is.
func plainInstance(t testing.TB, r wazero.Runtime, wasm []byte) api.Module {
	t.Helper()
	mod, err := r.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

func TestRewrite_RealModules_BehaveTheSame(t *testing.T) {
	guests(t, func(t *testing.T, wasm []byte) {
		r := newRuntime(t)
		wasi_snapshot_preview1.MustInstantiate(t.Context(), r)
		plain, metered := plainInstance(t, r, wasm), instantiate(t, r, wasm)
		ctx := WithMeter(t.Context(), metered.meter)
		metered.hungry(1000)
		metered.meter.Fill(2_000_000_000, testStack, time.Now())
		if start := plain.ExportedFunction("_initialize"); start != nil {
			mustCall(t, ctx, start)
			mustCall(t, ctx, metered.ExportedFunction("_initialize"))
		}
		for _, c := range calls {
			want := plain.ExportedFunction(c.name)
			if want == nil {
				continue
			}
			a := mustCall(t, ctx, want, c.args...)
			metered.meter.Fill(2_000_000_000, testStack, time.Now())
			b := mustCall(t, ctx, metered.ExportedFunction(c.name), c.args...)
			if !slices.Equal(a, b) {
				t.Errorf("%s%v = %v, the original says %v", c.name, c.args, b, a)
			}
			if used := 2_000_000_000 - metered.meter.Left(); used <= 0 {
				t.Errorf("%s%v used %d units", c.name, c.args, used)
			} else {
				t.Logf("%s%v = %v: %d units", c.name, c.args, b, used)
			}
		}
		if fault := metered.meter.Err(); fault != nil {
			t.Errorf("fault %v", fault)
		}
	})
}

type scenario struct {
	name string
	args []uint64
}

var calls = []scenario{
	{"fill", []uint64{20_000, 7}}, {"argmax", []uint64{api.EncodeF32(0.5)}}, {"top", []uint64{100}},
	{"scale", []uint64{api.EncodeF32(0.25)}}, {"text", []uint64{3000}}, {"fib", []uint64{20}},
	{"fill", []uint64{1000, 8}}, {"top", []uint64{1000}},
}

func mustCall(t testing.TB, ctx context.Context, f api.Function, args ...uint64) []uint64 {
	t.Helper()
	res, err := f.Call(ctx, args...)
	if err != nil {
		t.Fatalf("%s%v: %v", f.Definition().Name(), args, err)
	}
	return slices.Clone(res)
}

// BenchmarkOverhead compares hot code as it is and metered.
func BenchmarkOverhead(b *testing.B) {
	wasms := map[string][]byte{"go": stockGo(b)}
	if rustc() != "" {
		for name, feature := range rustTargets {
			wasms[name] = rust(b, feature)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wasms)) {
		r := newRuntime(b)
		wasi_snapshot_preview1.MustInstantiate(context.Background(), r)
		metered := instantiate(b, r, wasms[name])
		ctx := WithMeter(context.Background(), metered.meter)
		for kind, mod := range map[string]api.Module{"plain": plainInstance(b, r, wasms[name]), "metered": metered} {
			metered.meter.Fill(1<<62, testStack, time.Now())
			if start := mod.ExportedFunction("_initialize"); start != nil {
				mustCall(b, ctx, start)
			}
			mustCall(b, ctx, mod.ExportedFunction("fill"), 100_000, 7)
			for _, c := range []scenario{{"argmax", []uint64{api.EncodeF32(1)}}, {"scale", []uint64{api.EncodeF32(1)}}, {"top", []uint64{100}}, {"text", []uint64{1000}}, {"fib", []uint64{20}}} {
				f := mod.ExportedFunction(c.name)
				if f == nil {
					continue
				}
				b.Run(fmt.Sprintf("%s/%s/%s", name, c.name, kind), func(b *testing.B) {
					stack := make([]uint64, 2)
					for b.Loop() {
						copy(stack, c.args)
						if err := f.CallWithStack(ctx, stack); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkRewrite measures the rewriter, and for scale the compilation of
// what it made.
func BenchmarkRewrite(b *testing.B) {
	wasm := stockGo(b)
	b.Run("rewrite", func(b *testing.B) {
		b.SetBytes(int64(len(wasm)))
		for b.Loop() {
			if _, err := Rewrite(wasm, DefaultLimits()); err != nil {
				b.Fatal(err)
			}
		}
	})
	info, err := Rewrite(wasm, DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	for name, w := range map[string][]byte{"compile-plain": wasm, "compile-metered": info.Wasm} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(w)))
			for b.Loop() {
				r := wazero.NewRuntime(context.Background())
				if _, err := r.CompileModule(context.Background(), w); err != nil {
					b.Fatal(err)
				}
				r.Close(context.Background())
			}
		})
	}
}
