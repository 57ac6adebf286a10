// SPDX-License-Identifier: MIT

package fuel

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
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
	return must.Get(os.ReadFile(out))(t)
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
	return must.Get(r.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions()))(t)
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
			must.Get(Rewrite(wasm, DefaultLimits()))(b)
		}
	})
	info := must.Get(Rewrite(wasm, DefaultLimits()))(b)
	for name, w := range map[string][]byte{"compile-plain": wasm, "compile-metered": info.Wasm} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(w)))
			for b.Loop() {
				r := wazero.NewRuntime(context.Background())
				must.Get(r.CompileModule(context.Background(), w))(b)
				r.Close(context.Background())
			}
		})
	}
}

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
		found := must.Get(filepath.Glob(filepath.Join("..", "..", "..", "build", "plugins", pattern)))(t)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Fatal("no plugin is built: run `make plugins` first")
	}
	for _, file := range steadytest.Some(t, files, 6) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			wasm := must.Get(os.ReadFile(file))(t)
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
	compiled := must.Get(r.CompileModule(ctx, wasm))(t)
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

// penstock is what one plugin sees of a host: the same to the original and to what was made of it.
// It gives host functions as they are documented and checks nothing.
type penstock struct {
	history []uint32
	bound   map[uint32][2]uint32 // by kind: where, bytes
	said    []string             // what it emitted, logged and refused
	draws   uint64
}

// oneConfig has the fields of all examples.
const oneConfig = `{"scripts":["Latin"],"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":9},"list":{"type":"array","items":{"type":"number"}}},
	"required":["name","list"]},"phrases":["abc","b a"],"choices":["abcd","ab e","f"],"pattern":"c a+","tokens":8,"times":3,"key":7,"bonus":2,"share":0.5,"min_p":0.1,"draw":true,
	"grammar":"root ::= .*","strength":10,"ignore_case":true,"min":0.5,"max":1.5,"exponent":1,"width":2,"groups":1,"window":4,"n":2,"entropy":1,"without":"e","particles":2,"template":"A: {a}\nB: {b}\n","max_tokens":8,"at_once":2,"length_penalty":1,"answer":"a+","warmup":1,"k":2,"tables":{"orders":["id"]},"normalize":"none",
	"scale":1.5,"plausible":0.1,"context":8,"least":-2,"bytes":1000,"layers":[{"weights":[[1]],"bias":[0]}],"user":"User","assistant":"Assistant","keep":1,"image":"[picture]","audio":""}`

const oneConversation = `[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"image","text":"<m>","hash":"00"},{"type":"text","text":"h\u00e9, \"you\""},{"type":"image","text":"<n>","hash":"01"}]}]`

// pieces are all bytes, some words, and the end, which has none.
var pieces = func() (p []string) {
	for b := range 256 {
		p = append(p, string([]byte{byte(b)}))
	}
	return append(p, "ab", "abc", " a", " b", "{\"", "\":", "name", "list", " [", "12", "é", "")
}()

type penstockKey struct{}

// hostFunction gets its parameters in s, and leaves its result there.
type hostFunction func(p *penstock, m api.Memory, s []uint64)

func give(m api.Memory, at, limit uint64, b []byte) uint64 {
	if uint64(len(b)) <= limit {
		m.Write(uint32(at), b)
	}
	return uint64(len(b))
}

func giveWords(m api.Memory, at, limit uint64, words []uint32) uint64 {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return give(m, at, 4*limit, b) / 4
}

func text(m api.Memory, at, size uint64) string {
	b, _ := m.Read(uint32(at), uint32(size))
	return string(b)
}

var hostFunctions = map[string]hostFunction{
	abi.ImportConfig:   func(_ *penstock, m api.Memory, s []uint64) { s[0] = give(m, s[0], s[1], []byte(oneConfig)) },
	abi.ImportMessages: func(_ *penstock, m api.Memory, s []uint64) { s[0] = give(m, s[0], s[1], []byte(oneConversation)) },
	abi.ImportHistory: func(p *penstock, m api.Memory, s []uint64) {
		from := int(int32(s[0]))
		if from < 0 {
			from = max(0, len(p.history)+from)
		}
		s[0] = giveWords(m, s[1], s[2], p.history[min(from, len(p.history)):])
	},
	abi.ImportFeature: func(_ *penstock, m api.Memory, s []uint64) {
		if name := text(m, s[0], s[1]); offers(name) {
			s[0] = 1
			return
		}
		s[0] = 0
	},
	abi.ImportParam: func(_ *penstock, _ api.Memory, s []uint64) {
		s[0] = []uint64{promptTokens, 200, 4096, 1, 1_800_000_000_000, 0, 1}[s[0]]
	},
	abi.ImportVocabSize: func(_ *penstock, _ api.Memory, s []uint64) { s[0] = uint64(len(pieces)) },
	abi.ImportPiece: func(_ *penstock, m api.Memory, s []uint64) {
		if t := int32(s[0]); t < 0 || int(t) >= len(pieces) {
			s[0] = api.EncodeI32(-1)
			return
		}
		s[0] = give(m, s[1], s[2], []byte(pieces[s[0]]))
	},
	abi.ImportVocab: func(_ *penstock, m api.Memory, s []uint64) {
		all := make([]byte, 4)
		for _, piece := range pieces {
			all = binary.LittleEndian.AppendUint32(all, binary.LittleEndian.Uint32(all[len(all)-4:])+uint32(len(piece)))
		}
		s[0] = give(m, s[0], s[1], append(all, strings.Join(pieces, "")...))
	},
	abi.ImportTokenAttr: func(_ *penstock, _ api.Memory, s []uint64) {
		switch t := int32(s[0]); {
		case t < 0 || int(t) >= len(pieces):
			s[0] = api.EncodeI32(-1)
		case pieces[t] == "":
			s[0] = abi.AttrControl | abi.AttrEnd
		default:
			s[0] = 0
		}
	},
	abi.ImportSpecial: func(_ *penstock, _ api.Memory, s []uint64) { s[0] = uint64(len(pieces) - 1) },
	abi.ImportTokenize: func(_ *penstock, m api.Memory, s []uint64) {
		var tokens []uint32
		for _, b := range []byte(text(m, s[0], s[1])) {
			tokens = append(tokens, uint32(b))
		}
		s[0] = giveWords(m, s[3], s[4], tokens)
	},
	abi.ImportRandom: func(p *penstock, _ api.Memory, s []uint64) {
		p.draws++
		s[0] = abi.Draw(0, 0, 0, p.draws)
	},
	abi.ImportBind: func(p *penstock, _ api.Memory, s []uint64) {
		p.bound[uint32(s[0])] = [2]uint32{uint32(s[1]), uint32(s[2])}
		s[0] = 0
	},
	abi.ImportEmit: func(p *penstock, m api.Memory, s []uint64) { p.said = append(p.said, "emit "+text(m, s[0], s[1])) },
	abi.ImportFail: func(p *penstock, m api.Memory, s []uint64) { p.said = append(p.said, "fail "+text(m, s[0], s[1])) },
	abi.ImportGrammarOpen: func(p *penstock, m api.Memory, s []uint64) {
		p.said = append(p.said, fmt.Sprint("grammar ", s[0], text(m, s[1], s[2])))
		s[0] = 0
	},
	abi.ImportGrammarMask:       grammarMask,
	abi.ImportGrammarMaskWithin: grammarMask,
	abi.ImportGrammarRest:       func(p *penstock, _ api.Memory, s []uint64) { s[0] = uint64(len(p.history) % 5) },
	abi.ImportGrammarReason:     func(_ *penstock, m api.Memory, s []uint64) { s[0] = give(m, s[0], s[1], []byte("no reason")) },
	abi.ImportGrammarAccept:     func(_ *penstock, _ api.Memory, s []uint64) { s[0] = api.EncodeI32(-int32(s[1] % 2)) },
	abi.ImportLog: func(p *penstock, m api.Memory, s []uint64) {
		p.said = append(p.said, fmt.Sprint("log ", s[0], text(m, s[1], s[2])))
	},
}

// known are the host functions that this host has.
var known = map[string]bool{}

func init() {
	for name := range hostFunctions {
		known[name] = true
	}
}

// offers reports whether this host has a feature. It has no branches, and of the imports that are
// features those above.
func offers(feature string) bool {
	ours := known[feature]
	return ours || feature != abi.FeatureBranches && slices.Contains(abi.Features, feature) && !abi.Has(abi.Imports, feature)
}

// grammarMask allows every third byte, beginning with another each time.
func grammarMask(p *penstock, m api.Memory, s []uint64) {
	mask := make([]uint32, (len(pieces)+31)/32)
	for t := len(p.history) % 3; t < 256; t += 3 {
		mask[t/32] |= 1 << (t % 32)
	}
	giveWords(m, uint64(p.bound[abi.BufferMask][0]), uint64(len(mask)), mask)
	s[0] = 0
}

// offerPenstock puts the host functions that a module asks for into a runtime. Each finds its
// penstock in the call's context.
func offerPenstock(t *testing.T, r wazero.Runtime, imports []api.FunctionDefinition) {
	t.Helper()
	for _, module := range []string{abi.Module, abi.Optional} {
		offerModule(t, r, module, imports)
	}
}

func offerModule(t *testing.T, r wazero.Runtime, offered string, imports []api.FunctionDefinition) {
	t.Helper()
	b := r.NewHostModuleBuilder(offered)
	for _, f := range imports {
		module, name, _ := f.Import()
		if module != offered {
			continue
		}
		serve, ok := hostFunctions[name]
		if !ok && module == abi.Optional {
			serve = func(*penstock, api.Memory, []uint64) {
				panic(name + " is called, though the host says that it has none")
			}
		} else if !ok {
			t.Fatalf("there is no host function %s here; add it", name)
		}
		b = b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, s []uint64) {
			for i := range f.ParamTypes() {
				s[i] = uint64(uint32(s[i])) // all are i32, whose upper halves are anything
			}
			serve(ctx.Value(penstockKey{}).(*penstock), m.Memory(), s)
		}), slices.Clone(f.ParamTypes()), slices.Clone(f.ResultTypes())).Export(name)
	}
	must.Get(b.Instantiate(t.Context()))(t)
}
