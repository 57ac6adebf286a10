// SPDX-License-Identifier: MIT

package stage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// bench is the least host there can be: the runtime behind the real scheduler, on a model without
// arithmetic.
type bench struct {
	loader    *load.Loader
	scheduler *scheduler.Scheduler

	mu      sync.Mutex
	plugins map[string]*load.Plugin

	told func(*plugin.RequestInfo) // what else programs are told; nil: nothing
	stop func()                    // ends the scheduler, and waits for all that its requests had
}

const vocabulary = 256

// words is the vocabulary of schedulertest: token n is " n", and 0 ends an answer.
type words struct{}

func (words) Size() int { return vocabulary }
func (words) Piece(t int32) string {
	if t == schedulertest.EndToken {
		return ""
	}
	return " " + strconv.Itoa(int(t))
}
func (words) Attributes(t int32) uint32 {
	if t == schedulertest.EndToken {
		return abi.AttrControl | abi.AttrEnd
	}
	return 0
}
func (words) Special(kind int32) int32 {
	if kind == abi.SpecialEOS {
		return schedulertest.EndToken
	}
	return -1
}
func (words) Tokenize(text string, _, _ bool) ([]int32, error) {
	var tokens []int32
	for _, b := range []byte(text) {
		tokens = append(tokens, int32(b))
	}
	return tokens, nil
}

// odd is a grammar of odd tokens; it compiles where no parenthesis is left open.
type odd struct{}

func (odd) Open(_ context.Context, _ string, _ int32, text string) (plugin.Grammar, uint64, error) {
	if strings.HasSuffix(text, "(") {
		return nil, 0, errors.New("a parenthesis is open at the end")
	}
	return odd{}, 0, nil
}

func (odd) Mask(mask []uint32) error {
	for i := range mask {
		mask[i] = 0xaaaaaaaa
	}
	return nil
}

func (o odd) MaskWithin(_ int, mask []uint32) (bool, error) { return true, o.Mask(mask) }

func (odd) Rest() (int, bool, error) { return 1, false, nil }

func (odd) Accept(token int32) bool { return token%2 == 1 }

// Beginning is a place itself: each is like any other.
func (o odd) Beginning() program.GrammarState { return o }

func (o odd) After(token int32) (program.GrammarState, bool) { return o, o.Accept(token) }

func (odd) Close() error { return nil }

func newBench(t testing.TB, changes ...func(*plugin.Limits)) *bench {
	t.Helper()
	limits := plugin.DefaultLimits()
	limits.SetupFuel, limits.PlanFuel = limits.SetupFuel/100, limits.PlanFuel/100 // there is nothing to set up
	limits.Compile, limits.HookTime, limits.SetupTime, limits.LoadTime, limits.PlanTime = time.Minute, time.Minute, time.Minute, time.Minute, time.Minute
	for _, change := range changes {
		change(&limits)
	}
	loader := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: words{}, Grammars: odd{}}, Limits: limits})
	s := must.Get(scheduler.New(schedulertest.New(scheduler.Limits{Vocabulary: vocabulary, Cells: 16384, Context: 2048, HiddenState: 8}), scheduler.Config{Slots: 8}))(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b := &bench{loader: loader, scheduler: s, plugins: map[string]*load.Plugin{}}
	b.stop = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		b.stop()
		for _, m := range b.plugins {
			m.Release()
		}
		if err := loader.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Upload implements tck.Host.
func (b *bench) Upload(ctx context.Context, wasm []byte) error {
	_, err := b.load(ctx, wasm)
	return err
}

// load loads a module, and gives its name.
func (b *bench) load(ctx context.Context, wasm []byte) (string, error) {
	m, err := b.loader.Load(ctx, wasm)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.plugins[m.Name]; old != nil {
		old.Release()
	}
	b.plugins[m.Name] = m
	return m.Name, nil
}

// Complete implements tck.Host.
func (b *bench) Complete(ctx context.Context, r tck.Request, names []string) (tck.Answer, error) {
	request, err := b.request(ctx, r, names)
	if err != nil {
		return tck.Answer{}, failure(err)
	}
	return b.answer(ctx, request)
}

// request puts plugins to work in a request.
func (b *bench) request(ctx context.Context, r tck.Request, names []string) (scheduler.Request, error) {
	request := scheduler.Request{Ending: scheduler.Ending{MaxTokens: tck.MaxTokens, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1}}
	prompt, messages := "Hello", []byte(`[{"role":"user","content":"Hello"}]`)
	for place, name := range names {
		b.mu.Lock()
		p := b.plugins[name]
		b.mu.Unlock()
		use := plugin.RequestInfo{Seed: tck.Seed, Index: place, MaxTokens: tck.MaxTokens, ContextSize: 2048, Time: time.Now(), Skip: r.Skip}
		if place == 0 && r.Config != "" {
			use.Config = []byte(r.Config)
		}
		p, err := planned(ctx, p, &use)
		if err != nil {
			return request, err
		}
		defer p.Release()
		if p.IsProgram() {
			tellProgram(&use)
		}
		if r.Chat {
			use.Messages = messages
		}
		messages, err = rewrite(ctx, p, use, r.Chat, messages)
		var stage *stage.Stage
		var text string
		if err == nil && p.IsProgram() && request.Program != nil {
			err = &tck.Failure{Outcome: tck.Declined, Message: "both write the answer"}
		}
		if err == nil {
			stage, text, err = put(ctx, p, use, r.Chat, messages)
		}
		if err != nil {
			for _, s := range request.Chain {
				err = errors.Join(err, s.Close())
			}
			return request, err
		}
		if stage == nil {
			prompt = text
			continue
		}
		request.Chain = append(request.Chain, stage)
		if rule := stage.Rule(); rule != nil {
			request.Rules = append(request.Rules, rule)
		}
		if filter := stage.Filter(); filter != nil {
			request.Filters = append(request.Filters, filter)
		}
		if p.IsProgram() {
			writes(p, stage, use, &request)
		}
	}
	request.Chain = append(request.Chain, draw{})
	tokens, _ := words{}.Tokenize(prompt, false, false) // it has no errors
	request.Prompt = []scheduler.Segment{{Tokens: tokens}}
	return request, nil
}

// planned is the plugin for its configuration.
func planned(ctx context.Context, p *load.Plugin, use *plugin.RequestInfo) (q *load.Plugin, err error) {
	if use.Config, err = p.CheckConfig(use.Config); err != nil {
		return nil, err
	}
	var fault *plugin.Fault
	if q, err = p.With(ctx, use.Client, use.Config); use.Skip && errors.As(err, &fault) {
		return p.Skipped(fault)
	}
	return q, err
}

// tellProgram gives a program what a host has besides: chains that take the most likely token, and
// a template.
func tellProgram(use *plugin.RequestInfo) {
	use.Chain = func(_ context.Context, parameters []byte) (func(uint32) ([]chain.Stage, error), error) {
		var p struct{ Temperature float64 }
		if err := json.Unmarshal(parameters, &p); len(parameters) > 0 && err != nil || p.Temperature < 0 {
			return nil, fmt.Errorf("temperature is %v: %w", p.Temperature, err)
		}
		return func(uint32) ([]chain.Stage, error) { return []chain.Stage{schedulertest.Greedy{}}, nil }, nil
	}
	use.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		var list []json.RawMessage
		if err := json.Unmarshal(messages, &list); err != nil {
			return nil, err
		}
		return words{}.Tokenize("Hello", false, false)
	}
}

// writes makes a plugin that is a program what writes the answer: of its stage, the last one so
// far.
func writes(p *load.Plugin, s *stage.Stage, use plugin.RequestInfo, request *scheduler.Request) {
	of := stage.Program{Stage: s}
	request.Chain[len(request.Chain)-1] = of
	request.Program, request.CachePrompt = &program.Program{Main: of.Main, Branches: p.Branches(use.Config), HiddenStates: p.WantsHiddenState()}, true
}

// rewrite has a plugin rewrite the conversation, if it does.
func rewrite(ctx context.Context, p *load.Plugin, use plugin.RequestInfo, chat bool, messages []byte) ([]byte, error) {
	if !chat || !p.Rewrites() {
		return messages, nil
	}
	use.PromptText = func(_ context.Context, messages []byte) (string, error) {
		var list []struct{ Role, Content string }
		if err := json.Unmarshal(messages, &list); err != nil {
			return "", err
		}
		return fmt.Sprint(list), nil
	}
	rewritten, err := stage.RewriteMessages(ctx, p, messages, use, nil, func(text []byte) error {
		var list []struct{ Role string }
		if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 || list[0].Role == "" {
			return fmt.Errorf("%.40s is no list of messages: %w", text, err)
		}
		return nil
	})
	if err != nil || rewritten == nil {
		return messages, err
	}
	return rewritten, nil
}

// put puts a plugin to work: as a stage, or as a template whose text it returns.
func put(ctx context.Context, p *load.Plugin, use plugin.RequestInfo, chat bool, messages []byte) (*stage.Stage, string, error) {
	if !p.IsTemplate() {
		stage, err := stage.New(p, use)
		return stage, "", err
	}
	if !chat {
		return nil, "", &tck.Failure{Outcome: tck.Declined, Message: "a template needs messages"}
	}
	text, err := stage.Render(ctx, p, messages, use)
	return nil, text, err
}

func (b *bench) answer(ctx context.Context, request scheduler.Request) (a tck.Answer, _ error) {
	stream, err := b.scheduler.Submit(request)
	if err != nil {
		chain.Close(request.Chain)
		return a, failure(err)
	}
	var text strings.Builder
	for e := range schedulertest.Events(ctx, stream) {
		text.WriteString(e.Text)
		if e.Kind == scheduler.KindOutput {
			if err := a.Describe(strings.TrimPrefix(e.Output.By, "plugin:"), e.Output.Tokens, e.Output.Value); err != nil {
				return a, err
			}
		}
		if e.Kind != scheduler.KindEnd {
			continue
		}
		if e.End.Err != nil {
			return a, failure(e.End.Err)
		}
		a.Text, a.Tokens, a.Reason = text.String(), e.End.Usage.Generated, e.End.Reason.String()
		return a, nil
	}
	return a, ctx.Err()
}

// failure tells a client's errors from a plugin's.
func failure(err error) error {
	var f *tck.Failure
	var fault *plugin.Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &fault):
		return &tck.Failure{Outcome: tck.Faulted, Message: plugin.Told(err)}
	}
	return &tck.Failure{Outcome: tck.Declined, Message: plugin.Told(err)}
}

// draw ends a chain: greedy, from what the plugins left.
type draw struct{ schedulertest.Greedy }

func (draw) Native() bool { return false }

func (draw) Apply(v *chain.View) error {
	logits, id := v.Row, func(i int) int32 { return int32(i) }
	if v.N >= 0 {
		logits, id = v.Logit[:v.N], func(i int) int32 { return v.ID[i] }
	}
	best := 0
	for i, l := range logits {
		if l > logits[best] {
			best = i
		}
	}
	v.Chosen = id(best)
	return nil
}

func TestStage_Conforms(t *testing.T) {
	b := newBench(t)
	for _, c := range tck.Rules() {
		t.Run(c.Name, func(t *testing.T) {
			if err := tck.Run(context.Background(), b, c); err != nil {
				t.Errorf("%s: %v", c.Rule, err)
			}
		})
	}
}

func TestStage_ContainsHostileGuests(t *testing.T) {
	b := newBench(t)
	undisturbed := among(t, b)
	for _, c := range tck.Hostile() {
		t.Run(c.Name, func(t *testing.T) {
			if err := tck.Run(context.Background(), b, c); err != nil {
				t.Errorf("%s: %v", c.Rule, err)
			}
		})
	}
	undisturbed()
}

// With on_error: skip a fault costs the request its plugin, and nothing else. The answer goes on
// after what a program has shown.
func TestStage_SkipsHostileGuests(t *testing.T) {
	b := newBench(t)
	for _, c := range tck.Hostile() {
		if c.Want.Outcome != tck.Faulted || c.Request.Chat { // a template's prompt cannot be done without
			continue
		}
		c.Request.Skip = true
		c.Want = tck.Want{Outcome: tck.Answered, Tokens: tck.MaxTokens, Reason: "length"}
		if err := tck.Run(context.Background(), b, c); err != nil {
			t.Errorf("%s: %s: %v", c.Name, c.Rule, err)
		}
	}
}

// busy is a guest that has something of everything: it fills a mask, edits the row, and looks at
// tokens and text.
func busy() []byte {
	const atMask, atText, atRow = 8192, 8448, 16384
	g := asm.New(`{"name":"busy","view":"logits"}`)
	g.Globals, g.Table = 1, 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferMask, atMask, vocabulary/8), g.Bind(abi.BufferText, atText, 256),
		g.Bind(abi.BufferLogits, atRow, 4*vocabulary), asm.I32(atMask), asm.I32(-1), asm.I32(vocabulary/8), asm.Fill, asm.I32(0))
	g.On(abi.ExportPrepare, asm.Poke(atMask, -2), asm.I32(abi.PrepareMask))
	g.On(abi.ExportSample, asm.Each(1, asm.Local(0),
		asm.I32(atRow), asm.Global(0), asm.I32(vocabulary), asm.Remainder, asm.I32(4), asm.Multiply, asm.Add, asm.F32(3), asm.StoreF32),
		asm.I32(abi.SampleEdited))
	g.On(abi.ExportAccept, asm.Global(0), asm.Local(0), asm.Add, asm.SetGlobal(0), asm.I32(0))
	return g.On(abi.ExportStop, asm.I32(abi.StopShow)).Wasm()
}

// Whatever bit of a module is flipped, the host and its other streams go on.
func TestStage_FlippedBits_NeighboursNoticeNothing(t *testing.T) {
	b := newBench(t)
	undisturbed := among(t, b)
	wasm := busy()
	step := steadytest.InLongTest(1, 23) // which meets each of a byte's bits
	loaded := 0
	for bit := 8*8 + int(steadytest.Seed(t)%uint64(step)); bit < 8*len(wasm); bit += step {
		damaged := bytes.Clone(wasm)
		damaged[bit/8] ^= 1 << (bit % 8)
		name, err := b.load(context.Background(), damaged)
		if err != nil {
			continue
		}
		loaded++
		// Answers and failures are the guest's own.
		if _, err := b.Complete(context.Background(), tck.Request{}, []string{name}); err != nil {
			var failure *tck.Failure
			if !errors.As(err, &failure) {
				t.Errorf("bit %d: %v", bit, err)
			}
		}
	}
	undisturbed()
	if loaded == 0 {
		t.Error("no damaged module was loaded")
	}
}

// The mask and the row that the scheduler works on are the guest's own memory, and so are its
// buffers. Requests that are cancelled at any time must not leave a view of memory that is given
// back.
func TestStage_Close_NoViewOfMemoryIsLeft(t *testing.T) {
	b := newBench(t)
	name := must.Get(b.load(context.Background(), busy()))(t)
	undisturbed := among(t, b)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		request := must.Get(b.request(context.Background(), tck.Request{}, []string{name}))(t)
		request.MaxTokens = 50
		stream := must.Get(b.scheduler.Submit(request))(t)
		stop := r.IntN(20)
		for e := range schedulertest.Events(context.Background(), stream) {
			if stop--; stop == 0 {
				stream.Cancel()
			}
			if e.Kind == scheduler.KindEnd && e.End.Err != nil {
				t.Fatal(e.End.Err)
			}
		}
	}
	undisturbed()
}

// neighbour asks for an answer without plugins.
func (b *bench) neighbour(n int) (string, error) {
	tokens, _ := words{}.Tokenize(fmt.Sprint("neighbour ", n), false, false) // it has no errors
	a, err := b.answer(context.Background(), scheduler.Request{Ending: scheduler.Ending{MaxTokens: 100, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1},
		Prompt: []scheduler.Segment{{Tokens: tokens}}, Chain: []chain.Stage{draw{}}})
	return a.Text, err
}

// among lets seven neighbours stream until the function it returns is called: that checks that
// they noticed nothing.
func among(t *testing.T, b *bench) (undisturbed func()) {
	t.Helper()
	stop := must.Get(tck.Neighbours(b.neighbour))(t)
	return func() {
		t.Helper()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}
