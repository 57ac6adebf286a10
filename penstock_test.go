// SPDX-License-Identifier: MIT

package penstock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/penstock/penstock"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

const story = "Tell me a story about a frog."

// endless has an answer go on until it is ended, or the context is full.
var endless = penstock.Sampling(func(p *penstock.Params) { p.IgnoreEOS = true })

// open opens a model of its own for a test.
func open(t *testing.T, name string, options ...penstock.OpenOption) *penstock.Model {
	t.Helper()
	m := must.Get(penstock.Open(t.Context(), name, append(options, alike)...))(t)
	must.Close(t, m)
	return m
}

// awaitIdle waits until no answer has a slot. It collects garbage meanwhile.
func awaitIdle(t *testing.T, m *penstock.Model) {
	t.Helper()
	for end := time.Now().Add(time.Minute); m.Stats().Running+m.Stats().Waiting > 0; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("%+v", m.Stats())
		}
		runtime.Gosched()
	}
}

func TestLive_Dropped_Ends(t *testing.T) {
	begin := func() {
		live := must.Get(m.Live(t.Context(), penstock.Text("Once"), endless))(t)
		for token, err := range live.Tokens() {
			if err != nil || token.ID >= 0 {
				break
			}
		}
		if _, err := m.Live(t.Context(), penstock.Text("Once"), endless); err != nil { // that nobody reads
			t.Fatal(err)
		}
	}
	begin()
	awaitIdle(t, m)
}

func TestLive_ContextEnds_IsTheError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	live, err := m.Live(ctx, penstock.Text("Once"), endless)
	if err != nil {
		t.Fatal(err)
	}
	unread, err := m.Live(ctx, penstock.Text("Once"), endless)
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range live.Tokens() {
		cancel()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the one that is read: %v", err)
	}
	awaitIdle(t, m)
	if _, err := unread.Answer(); !errors.Is(err, context.Canceled) {
		t.Errorf("the one that is not: %v", err)
	}
}

func TestModel_Close_EndsAnswers(t *testing.T) {
	m := must.Get(penstock.OpenBuiltIn(t.Context(), alike))(t)
	read := must.Get(m.Live(t.Context(), penstock.Text("Once"), endless))(t)
	unread := must.Get(m.Live(t.Context(), penstock.Text("Once"), endless))(t)
	began, ended := make(chan struct{}), make(chan penstock.Answer)
	go func() {
		var whole penstock.Answer
		first := sync.OnceFunc(func() { close(began) })
		for token, err := range read.Tokens() {
			if err != nil {
				t.Error(err)
			}
			first()
			if token.End != nil {
				whole = *token.End
			}
		}
		ended <- whole
	}()
	<-began
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	if a := <-ended; a.FinishReason != "cancelled" || a.Text == "" {
		t.Errorf("%+v", a)
	}
	for name, after := range map[string]func() error{
		"an answer that nobody read": func() error { _, err := unread.Answer(); return err },
		"a request":                  func() error { _, err := m.Generate(t.Context(), "Once"); return err },
		"tokens":                     func() error { _, err := m.Tokenize(t.Context(), "Once"); return err },
		"embeddings":                 func() error { _, err := m.Embed(t.Context(), "Once"); return err },
		"steering":                   func() error { return unread.Set(t.Context(), func(*penstock.Params) {}) },
		"a fork":                     func() error { _, err := unread.Fork(t.Context(), nil); return err },
	} {
		if err := after(); !errors.Is(err, penstock.ErrClosed) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}

// Whether the answer has parts that are told apart or not: after Rewind a token has all that is
// left. The answer is longer than what a stream holds for its reader, so it does not end before.
func TestLive_Rewind_TellsWhatIsLeft(t *testing.T) {
	for name, prompt := range prompts {
		t.Run(name, func(t *testing.T) {
			want := whole(t, prompt)
			live := must.Get(m.Live(t.Context(), prompt, long...))(t)
			text, tokens, rewound := "", 0, false
			for token, err := range live.Tokens() {
				if err != nil {
					t.Fatal(err)
				}
				if token.TakenBack > 0 {
					rewound = true
					tokens, text = tokens-token.TakenBack, ""
				}
				if text += token.Text; token.ID >= 0 {
					tokens++
				}
				if tokens == 6 && !rewound {
					must.Do(t, errors.Join(live.Pause(t.Context()), live.Rewind(t.Context(), 3), live.Resume(t.Context())))
				}
				if token.End != nil && (token.End.Text != text || !slices.Equal(token.End.Tokens, want.Tokens)) {
					t.Errorf("the end says %+v, and the tokens have made %q", *token.End, text)
				}
			}
			if text != want.Text || tokens != len(want.Tokens) || !rewound {
				t.Errorf("%q in %d tokens, rewound %v; want %q in %d", text, tokens, rewound, want.Text, len(want.Tokens))
			}
		})
	}
}

var prompts = map[string]penstock.Prompt{"text": penstock.Text("Once upon a time"), "chat": penstock.Conversation{penstock.User(story)}}

// long has an answer be 200 tokens, the same each time.
var long = []penstock.Option{endless, penstock.Temperature(0), penstock.MaxTokens(200)}

// However an answer is drained, it is the one that a loop reads.
func TestLive_Drain(t *testing.T) {
	for name, prompt := range prompts {
		t.Run(name, func(t *testing.T) {
			want := whole(t, prompt)
			for name, drain := range map[string]func(*penstock.Live, []penstock.Token) (int, error){"waiting": (*penstock.Live).Drain, "trying": (*penstock.Live).TryDrain} {
				live, err := m.Live(t.Context(), prompt, long...)
				if err != nil {
					t.Fatal(err)
				}
				var buffer [7]penstock.Token
				var last penstock.Token
				text, tokens := "", []int32(nil)
				n := 0
				for n, err = drain(live, buffer[:]); err == nil; n, err = drain(live, buffer[:]) {
					for _, last = range buffer[:n] {
						if text += last.Text; last.ID >= 0 {
							tokens = append(tokens, last.ID)
						}
					}
					if n == 0 {
						runtime.Gosched()
					}
				}
				if n != 0 || !errors.Is(err, io.EOF) || text != want.Text || !slices.Equal(tokens, want.Tokens) || last.End == nil || last.End.Text != want.Text {
					t.Errorf("%s: %q in %d tokens, then %d and %v; want %q in %d", name, text, len(tokens), n, err, want.Text, len(want.Tokens))
				}
			}
		})
	}
}

// An answer that nobody reads loses its oldest tokens, or ends, if that is what is asked for.
func TestOverflow(t *testing.T) {
	for policy, c := range map[string]struct{ reason, kind string }{"drop": {"length", "limit"}, "cancel": {"cancelled", "none"}} {
		ended := make(chan penstock.Ended, 1)
		stop := m.Listen(penstock.Listener{Ended: func(e penstock.Ended) { ended <- e }})
		live := must.Get(m.Live(t.Context(), penstock.Text("Once upon a time"), endless, penstock.MaxTokens(400), penstock.Temperature(0), penstock.Overflow(policy)))(t)
		<-ended
		stop()
		a, err := live.Answer()
		if err != nil || a.FinishReason != c.reason || a.StopType != c.kind || (a.Missed > 0) != (policy == "drop") {
			t.Errorf("%s: %+v, %v", policy, a, err)
		}
		if events := uint64(a.Usage.Generated + 1); policy == "drop" && uint64(len(a.Tokens))+a.Missed != events { // with the start
			t.Errorf("%d tokens were read and %d events lost, of %d", len(a.Tokens), a.Missed, events)
		}
	}
}

// Each way in which an answer ends is told.
func TestAnswer_StopType(t *testing.T) {
	end := m.Info().Vocabulary.Ends[0]
	text := whole(t, prompts["text"]).Text
	brake := func(script string) penstock.Option {
		return penstock.Plugins(penstock.Plugin{Name: "brake", Script: script})
	}
	for name, c := range map[string]struct {
		option     penstock.Option
		kind, what string
	}{
		"the model":  {penstock.Sampling(func(p *penstock.Params) { p.LogitBias = fmt.Appendf(nil, `{"%d": 100}`, end) }), "eos", ""},
		"a text":     {penstock.Stop(text[20:24]), "word", text[20:24]},
		"its length": {penstock.MaxTokens(3), "limit", ""},
		"a stage":    {brake(`let n = 0; export function accept() { if (++n == 3) return "stop" }`), "plugin", "brake"},
		"a rule":     {brake(`let n = 0; export function stop() { if (++n == 3) return "end" }`), "plugin", "brake"},
		"a program":  {brake("export const plugin = { branches: 1 }; export function run() {}"), "plugin", "brake"},
	} {
		a, err := m.Generate(t.Context(), "Once upon a time", penstock.Temperature(0), penstock.MaxTokens(200), c.option)
		if err != nil || a.StopType != c.kind || a.Stop+a.StoppedBy != c.what {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// Listeners are told of ticks and requests, and one makes spans below that of the request's
// context.
func TestModel_Listen(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(exported)).Tracer("test")
	ctx, mine := tracer.Start(t.Context(), "mine")
	defer m.Listen(penstock.Spans(tracer))()
	var ticks atomic.Int64 // the last one goes on
	ended := make(chan penstock.Ended, 1)
	stop := m.Listen(penstock.Listener{Tick: func(penstock.Tick) { ticks.Add(1) }, Ended: func(e penstock.Ended) { ended <- e }})
	must.Get(m.Generate(ctx, "Once", endless, penstock.MaxTokens(3)))(t)
	if e := <-ended; e.Usage.Generated != 3 || ticks.Load() == 0 {
		t.Errorf("%+v after %d ticks", e, ticks.Load())
	}
	stop()
	var names []string
	for _, span := range exported.GetSpans() {
		if names = append(names, span.Name); span.Parent.SpanID() != mine.SpanContext().SpanID() {
			t.Errorf("%s is not below the caller's span", span.Name)
		}
	}
	if !slices.Equal(names, []string{"queue", "prefill", "decode"}) {
		t.Errorf("%v", names)
	}
}

func whole(t *testing.T, prompt penstock.Prompt) penstock.Answer {
	t.Helper()
	live := must.Get(m.Live(t.Context(), prompt, long...))(t)
	a, err := live.Answer()
	if err != nil || len(a.Tokens) != 200 || a.FinishReason != "length" {
		t.Fatalf("%+v, %v", a, err)
	}
	if again, err := live.Answer(); err != nil || again.Text != a.Text {
		t.Errorf("read again: %q, %v", again.Text, err)
	}
	return a
}

// A fork has what the answer had, and goes on in its own way.
func TestLive_Fork_GoesOnFromThere(t *testing.T) {
	seven := must.Get(m.Tokenize(t.Context(), "7"))(t)
	other := seven[len(seven)-1]
	for name, prompt := range prompts {
		t.Run(name, func(t *testing.T) {
			want := whole(t, prompt)
			live := must.Get(m.Live(t.Context(), prompt, long...))(t)
			var fork *penstock.Live
			for token, err := range live.Tokens() {
				if err == nil && fork == nil && token.ID >= 0 {
					fork, err = live.Fork(t.Context(), func(p *penstock.Params) { p.LogitBias = fmt.Appendf(nil, `{"%d": 100}`, other) })
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if a, err := live.Answer(); err != nil || a.Text != want.Text {
				t.Errorf("the answer has become %q: %v", a.Text, err)
			}
			a, err := fork.Answer()
			from := slices.Index(a.Tokens, other)
			if err != nil || len(a.Tokens) != 200 || from < 1 || !slices.Equal(a.Tokens[:from], want.Tokens[:from]) || a.Tokens[199] != other {
				t.Errorf("%v of %v: %v", a.Tokens, want.Tokens, err)
			}
		})
	}
}

// A text is injected while the answer is read.
func TestLive_Inject(t *testing.T) {
	m := open(t, penstock.BuiltIn, penstock.Set("scheduler.context_shift", true)) // so that it never ends
	live := must.Get(m.Live(t.Context(), penstock.Text("Once upon a time"), endless))(t)
	const green = " zqxzqx"
	text := ""
	done := make(chan error, 1)
	for token, err := range live.Tokens() {
		if err != nil {
			t.Fatal(err)
		}
		if text == "" {
			go func() { done <- live.Inject(t.Context(), green) }()
		}
		if text += token.Text; strings.Contains(text, green) {
			break
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A function that changes logits sees all tokens so far, and stays when the parameters change.
func TestLogits_SeesTheAnswer(t *testing.T) {
	prompt := must.Get(m.Tokenize(t.Context(), "Once upon a time"))(t)
	var seen [][]int32
	live := must.Get(m.Live(t.Context(), penstock.Text("Once upon a time"), append(slices.Clone(long), penstock.Logits(func(tokens []int32, logits []float32) {
		seen = append(seen, slices.Clone(tokens))
		clear(logits)
		logits[300+len(tokens)%2] = 9
	}))...))(t)
	changed := false
	for _, err := range live.Tokens() {
		if err == nil && !changed {
			changed, err = true, live.Set(t.Context(), func(p *penstock.Params) { p.TopK = 7 })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	answer, err := live.Answer()
	if err != nil || len(answer.Tokens) != 200 || len(seen) != 200 {
		t.Fatalf("%+v after %d calls: %v", answer, len(seen), err)
	}
	for i, tokens := range seen {
		if !slices.Equal(tokens[len(tokens)-i:], answer.Tokens[:i]) || !slices.Equal(tokens[len(tokens)-i-len(prompt):len(tokens)-i], prompt) {
			t.Errorf("call %d had the tokens %v; the prompt is %v, the answer %v", i, tokens, prompt, answer.Tokens)
		}
		if want := int32(300 + len(tokens)%2); answer.Tokens[i] != want {
			t.Errorf("token %d is %d, want %d", i, answer.Tokens[i], want)
		}
	}
}

// rowsOf reads a stream of rows.
func rowsOf(t *testing.T, rows iter.Seq2[[]float32, error]) (all [][]float32) {
	t.Helper()
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// The rows of streams are those that are to be had whole.
func TestModel_EmbedStream_EmbedTokens(t *testing.T) {
	texts := []string{"The frog jumps.", "Prices rose.", "A frog sat by the pond."}
	want := must.Get(m.Embed(t.Context(), texts...))(t)
	got := rowsOf(t, m.EmbedStream(t.Context(), slices.Values(texts)))
	for i := range want {
		for j := range want[i] {
			if math.Abs(float64(got[i][j]-want[i][j])) > 1e-4 {
				t.Fatalf("number %d of text %d is %v, want %v", j, i, got[i][j], want[i][j])
			}
		}
	}
	tokens := must.Get(m.Tokenize(t.Context(), texts[0]))(t)
	if rows := rowsOf(t, m.EmbedTokens(t.Context(), texts[0])); len(rows) < len(tokens) || len(rows) > len(tokens)+1 || len(rows[0]) != len(want[0]) {
		t.Errorf("%d rows for %d tokens", len(rows), len(tokens))
	}
}

// Each token has the probabilities of the whole vocabulary, and the state that it was drawn from
// comes before it. The last layer's after the norm are not those of the last layer before.
func TestLogprobRows_HiddenStates(t *testing.T) {
	states := m.Info().States
	var last [2][][]float32
	for i, layer := range []int{0, states.Layers} {
		tokens := 0
		for token, err := range m.Stream(t.Context(), "Once upon a time", endless, penstock.Temperature(0), penstock.MaxTokens(40), penstock.LogprobRows(), penstock.HiddenStates(layer)) {
			switch {
			case err != nil:
				t.Fatal(err)
			case token.Output != nil:
				if token.Output.Tokens != tokens || len(token.Output.Row) != states.Width {
					t.Fatalf("%d numbers of token %d after %d tokens", len(token.Output.Row), token.Output.Tokens, tokens)
				}
				last[i] = append(last[i], token.Output.Row)
			case token.ID >= 0:
				tokens++
				sum := 0.0
				for _, p := range token.Logprobs.Row {
					sum += math.Exp(float64(p))
				}
				if math.Abs(sum-1) > 1e-3 || token.Logprobs.Row[token.ID] != token.Logprobs.Token || token.Logprobs.Token != slices.Max(token.Logprobs.Row) {
					t.Errorf("token %d: the probabilities add up to %v", token.ID, sum)
				}
			}
			if token.End != nil && len(token.End.Outputs) > 0 {
				t.Errorf("the whole answer keeps %d states", len(token.End.Outputs))
			}
		}
		if tokens != 40 || len(last[i]) != 40 {
			t.Errorf("%d tokens, %d states", tokens, len(last[i]))
		}
	}
	if slices.Equal(last[0][0], last[1][0]) {
		t.Error("the last layer gives the same before and after the norm")
	}
	if _, err := m.Generate(t.Context(), "Once", penstock.HiddenStates(states.Layers+1)); !is[*penstock.RequestError](err) {
		t.Errorf("a layer that is not there: %v", err)
	}
}

// Errors tell by their types what a program can do about them.
func TestErrors(t *testing.T) {
	var failed *penstock.ModelError
	if _, err := penstock.Open(t.Context(), filepath.Join(t.TempDir(), "none.gguf")); !errors.As(err, &failed) || !strings.Contains(err.Error(), "none.gguf") {
		t.Errorf("no model: %v", err)
	}
	if _, err := penstock.OpenBuiltIn(t.Context(), penstock.Set("scheduler.slot", 1)); !errors.As(err, &failed) || !strings.Contains(err.Error(), `"scheduler.slot"`) {
		t.Errorf("no key: %v", err)
	}
	small := open(t, penstock.BuiltIn, penstock.Set("scheduler.slots", 1), penstock.Set("scheduler.max_queue", 1), penstock.Set("model.ctx_size", 512))
	for name, c := range map[string]struct {
		options []penstock.Option
		field   string
		is      func(error) bool
	}{
		"a wrong value": {[]penstock.Option{penstock.Temperature(-1)}, "temperature", is[*penstock.RequestError]},
		"no schema":     {[]penstock.Option{penstock.Schema(func() {})}, "json_schema", is[*penstock.RequestError]},
		"no tool":       {[]penstock.Option{penstock.Tools(penstock.Tool{})}, "tools[0].function.name", is[*penstock.RequestError]},
		"no adapter":    {[]penstock.Option{penstock.Lora("none", 1)}, "lora[0].name", is[*penstock.RequestError]},
		"a module":      {[]penstock.Option{penstock.Plugins(penstock.Plugin{Module: []byte("no module")})}, "plugins", is[*penstock.PluginFault]},
		"a script":      {[]penstock.Option{penstock.Plugins(penstock.Plugin{Script: "export function sample( {"})}, "plugins[0].script", is[*penstock.PluginFault]},
		"its call":      {[]penstock.Option{penstock.Plugins(penstock.Plugin{Script: "export function accept() { throw new Error('oh') }"})}, "plugins", is[*penstock.PluginFault]},
		"no policy":     {[]penstock.Option{penstock.Overflow("lose")}, "overflow", is[*penstock.RequestError]},
		"probabilities": {[]penstock.Option{penstock.TopLogprobs(21)}, "top_logprobs", is[*penstock.RequestError]},
		"a text's tool": {[]penstock.Option{penstock.ToolChoice("required")}, "tools", is[*penstock.RequestError]},
		"no number":     {[]penstock.Option{penstock.Logits(func(_ []int32, logits []float32) { logits[7] = float32(math.NaN()) })}, "logits", is[*penstock.RequestError]},
		"not its logits": {[]penstock.Option{penstock.Logits(func([]int32, []float32) {}),
			penstock.Plugins(penstock.Plugin{Script: "export const plugin = { branches: 1 }; export function run() {}"})}, "logits", is[*penstock.RequestError]},
	} {
		_, err := small.Generate(t.Context(), "Once", c.options...)
		var base *penstock.RequestError
		if !c.is(err) || !errors.As(err, &base) || base.Field != c.field || base.Code == "" {
			t.Errorf("%s: %#v", name, err)
		}
	}
	for field, messages := range map[string][]penstock.Message{"messages": nil, "messages[1].Role": {penstock.User("Hi"), {Role: "bot", Content: "Hi"}}} {
		var refused *penstock.RequestError
		if _, err := small.Chat(t.Context(), messages); !errors.As(err, &refused) || refused.Field != field {
			t.Errorf("%v: %v", messages, err)
		}
	}
	var busy *penstock.Overload
	for range 2 {
		live := must.Get(small.Live(t.Context(), penstock.Text("Once"), endless))(t)
		defer live.Cancel() // not before: dropped, it would end
	}
	if _, err := small.Generate(t.Context(), "Once"); !errors.As(err, &busy) || busy.Retry <= 0 {
		t.Errorf("a full queue: %v", err)
	}
}

func is[T error](err error) bool {
	var as T
	return errors.As(err, &as)
}

// An encoder makes vectors and generates nothing; a model that scores ranks.
func TestOpen_OtherModels(t *testing.T) {
	write := func(kind string) string {
		path := filepath.Join(t.TempDir(), kind+".gguf")
		must.Do(t, synth.SmallFile(path, kind, 1))
		return path
	}
	encoder := open(t, write("bert"))
	if rows, err := encoder.Embed(t.Context(), "a frog", "a bird"); err != nil || len(rows) != 2 || len(rows[0]) < 8 {
		t.Errorf("%v, %v", rows, err)
	}
	if _, err := encoder.Generate(t.Context(), "Once"); !is[*penstock.RequestError](err) {
		t.Errorf("%v", err)
	}
	if _, err := m.Rank(t.Context(), "a frog", "green"); !is[*penstock.RequestError](err) {
		t.Errorf("%v", err)
	}
	ranks := open(t, write("reranker"), penstock.Set("rerank.enabled", true))
	if scores, err := ranks.Rank(t.Context(), "a frog", "green", "a frog"); err != nil || len(scores) != 2 || scores[0] == scores[1] {
		t.Errorf("%v, %v", scores, err)
	}
}

// A configuration that the program has loaded has the model that Open is asked for.
func TestOpen_ConfigAndName(t *testing.T) {
	c := must.Get(config.Load(config.Sources{File: os.DevNull, Flags: map[string]any{"model.path": "none.gguf", "model.threads": 1, "plugins.dir": ""}}))(t)
	if m := open(t, penstock.BuiltIn, penstock.Config(c)); m.Info().Name != penstock.BuiltIn {
		t.Errorf("%q is open", m.Info().Name)
	}
}

func TestLora_Counts(t *testing.T) {
	const path = "host/model/penstock-tiny.gguf"
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "tales.gguf")))(t)
	must.Do(t, errors.Join(synth.Adapter{Model: path}.Write(file), file.Close()))
	adapted := open(t, path, penstock.Set("model.lora", file.Name()), penstock.Set("model.lora_init_without_apply", true))
	answer := func(m *penstock.Model, options ...penstock.Option) string {
		a := must.Get(m.Generate(t.Context(), "Once upon a time", append(options, penstock.Temperature(0), penstock.MaxTokens(12))...))(t)
		return a.Text
	}
	plain, with := answer(m), answer(adapted, penstock.Lora("tales", 1))
	if without := answer(adapted); without != plain || with == plain {
		t.Errorf("without it %q and %q, with it %q", plain, without, with)
	}
}

// In the steady state a token costs no allocation, neither of the scheduler nor of its reader. What
// else the process does allocates too, so one of five answers has to show it.
func TestModel_Stream_AllocatesNothing(t *testing.T) {
	const warm, counted = 100, 400
	options := []penstock.Option{endless, penstock.Temperature(0)}
	for name, read := range map[string]func(take func(tokens int) (more bool)){
		"a loop": func(take func(int) bool) {
			for token, err := range m.Stream(t.Context(), "Once upon a time", options...) {
				if err != nil || token.ID >= 0 && !take(1) {
					break
				}
			}
		},
		"drained": func(take func(int) bool) {
			live := must.Get(m.Live(t.Context(), penstock.Text("Once upon a time"), options...))(t)
			defer live.Cancel()
			var buffer [16]penstock.Token
			for n, err := live.Drain(buffer[:]); err == nil && take(n); n, err = live.Drain(buffer[:]) {
			}
		},
	} {
		least := uint64(math.MaxUint64)
		for range 5 {
			var before, after runtime.MemStats
			total, done := 0, false
			read(func(tokens int) bool {
				was := total
				switch total += tokens; {
				case was < warm && total >= warm:
					runtime.ReadMemStats(&before)
				case total >= warm+counted:
					runtime.ReadMemStats(&after)
					done = true
				}
				return !done
			})
			if !done {
				t.Fatalf("%s: only %d tokens were read", name, total)
			}
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least > counted/2 { // some memory grows, ever more seldom
			t.Errorf("%s: %d tokens took %d allocations", name, counted, least)
		}
	}
}
