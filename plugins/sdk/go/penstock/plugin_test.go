// SPDX-License-Identifier: MIT

package penstock_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/json"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

var words = []string{"a", "b", "c", "d", "e"}

// all is a plugin with nearly every method; what they do is in its fields, which the test sets
// before a session.
type all struct {
	count   int // of accepted tokens
	indexed int // by Warm
}

var does struct {
	prepare func(*penstock.Next)
	sample  func(*penstock.Candidates) penstock.Choice
	accept  func(penstock.Token) penstock.Accepted
}

func (a *all) Warm(v *penstock.Vocabulary) error { a.indexed = v.Len(); return nil }
func (a *all) Open(*penstock.Request) error {
	if a.indexed != len(words) || a.count != 0 {
		return errors.New("this is not a fresh plugin that was warmed")
	}
	return nil
}
func (a *all) Prepare(n *penstock.Next)                            { does.prepare(n) }
func (a *all) Sample(c *penstock.Candidates) penstock.Choice       { return does.sample(c) }
func (a *all) Accept(t penstock.Token) penstock.Accepted           { a.count++; return does.accept(t) }
func (a *all) Stop(_ penstock.Token, text []byte) penstock.Verdict { return penstock.EndAfter(a.count) }

// openAll opens a session of the plugin that has all methods.
func openAll(t *testing.T, m penstock.Manifest) *plugintest.Session {
	t.Helper()
	m.Name = "all"
	penstock.Register[all](m)
	does.accept = func(penstock.Token) penstock.Accepted { return penstock.Continue }
	return plugintest.Open[all](t, plugintest.Request{Pieces: words, Prompt: []penstock.Token{0}, Seed: 3})
}

func TestRegister_FreshForEachRequest(t *testing.T) {
	for range 2 {
		s := openAll(t, penstock.Manifest{})
		s.Accept(1)
		if got := s.Stop(1, "b"); got != penstock.EndAfter(1) {
			t.Errorf("got %d, want to end after the 1 token of this request", got)
		}
	}
	s := openAll(t, penstock.Manifest{})
	for range 3 {
		s.Accept(1)
	}
	s.Rewind(2) // without the method Rewind a fresh plugin is told the token that is left
	if got := s.Stop(1, "b"); got != penstock.EndAfter(1) {
		t.Errorf("got %d, want to end after the 1 token that is left", got)
	}
}

func TestSampler_Choices(t *testing.T) {
	inf := float32(math.Inf(-1))
	for name, c := range map[string]struct {
		sample func(*penstock.Candidates) penstock.Choice
		choice penstock.Choice
		left   []float32
	}{
		"edited": {func(c *penstock.Candidates) penstock.Choice { c.Ban(1); c.Logits()[2] = 7; return penstock.Edited }, penstock.Edited, []float32{3, inf, 7}},
		"keep":   {func(c *penstock.Candidates) penstock.Choice { return penstock.Keep(2) }, penstock.Keep(2), []float32{3, 2, inf}},
		"keep 0": {func(c *penstock.Candidates) penstock.Choice { return penstock.Keep(0) }, penstock.Keep(1), []float32{3, inf, inf}},
		"first": {func(c *penstock.Candidates) penstock.Choice {
			left := c.First(2)
			left.Ban(1)
			return penstock.Take(left.IDs()[left.Len()-1])
		}, penstock.Take(2), []float32{3, inf, 1}},
		"take":    {func(c *penstock.Candidates) penstock.Choice { return penstock.Take(c.IDs()[2]) }, penstock.Take(4), []float32{3, 2, 1}},
		"highest": {func(c *penstock.Candidates) penstock.Choice { c.Logits()[0] = c.Highest() + 1; return penstock.Edited }, penstock.Edited, []float32{4, 2, 1}},
	} {
		s := openAll(t, penstock.Manifest{})
		does.sample = c.sample
		logits := []float32{3, 2, 1}
		if got := s.Sample([]penstock.Token{0, 2, 4}, logits); got != c.choice || !slices.Equal(logits, c.left) {
			t.Errorf("%s: chose %d and left %v, want %d and %v", name, got, logits, c.choice, c.left)
		}
	}
	if token, ok := penstock.Take(4).Token(); token != 4 || !ok {
		t.Errorf("the token is %d, %v", token, ok)
	}
	for _, choice := range []penstock.Choice{penstock.Edited, penstock.Keep(3)} {
		if token, ok := choice.Token(); ok {
			t.Errorf("%d takes token %d", choice, token)
		}
	}
}

// TestSampler_Draw_Distribution draws often, and wants each candidate as often as its weight says.
func TestSampler_Draw_Distribution(t *testing.T) {
	s := openAll(t, penstock.Manifest{})
	var weights []float32
	does.sample = func(c *penstock.Candidates) penstock.Choice {
		var sum float32
		weights, sum = c.Softmax(weights)
		return penstock.Take(c.Draw(weights, sum))
	}
	drawn := map[penstock.Token]int{}
	for range 4000 {
		token, _ := s.Sample([]penstock.Token{3, 1, 0}, []float32{float32(math.Log(2)), float32(math.Log(1)), float32(math.Log(1))}).Token()
		drawn[token]++
	}
	for token, want := range map[penstock.Token]int{3: 2000, 1: 1000, 0: 1000} {
		if math.Abs(float64(drawn[token]-want)) > 150 {
			t.Errorf("token %d was drawn %d times, want about %d", token, drawn[token], want)
		}
	}
}

// TestSampler_OlderHost has a host that does not know what came later.
func TestSampler_OlderHost(t *testing.T) {
	later := abi.Features
	abi.Features = slices.DeleteFunc(slices.Clone(later), func(name string) bool {
		return slices.Contains([]string{"sample_keep", "prepare_force_many", "config_defaults", "request", "output"}, name)
	})
	defer func() { abi.Features = later }()
	s := openAll(t, penstock.Manifest{})
	does.sample = func(*penstock.Candidates) penstock.Choice { return penstock.Keep(1) }
	logits := []float32{2, 1, 0}
	if got := s.Sample([]penstock.Token{0, 1, 2}, logits); got != penstock.Edited || !slices.Equal(logits, []float32{2, float32(math.Inf(-1)), float32(math.Inf(-1))}) {
		t.Errorf("chose %d and left %v, want the others banned", got, logits)
	}
	asked := 0
	does.prepare = func(n *penstock.Next) {
		if asked++; asked == 1 {
			n.Force(1, 2, 3)
		}
	}
	for i, want := range [][]penstock.Token{{1}, {2}, {3}, nil} {
		got := s.Prepare().Forced
		if !slices.Equal(got, want) {
			t.Fatalf("token %d: forced %v, want %v", i, got, want)
		}
		s.Accept(penstock.Token(i + 1))
	}
	asked = 0
	if got := s.Prepare().Forced; !slices.Equal(got, []penstock.Token{1}) {
		t.Fatalf("forced %v", got)
	}
	s.Rewind(2) // the others are due no more
	if got := s.Prepare().Forced; got != nil || asked != 2 {
		t.Errorf("after a rewind %v is forced", got)
	}
	penstock.Register[probe](penstock.Manifest{Name: "test", ConfigSchema: `{"properties":{"a":{"default":1}}}`})
	f = func(r *penstock.Request) error {
		if r.Model().Get("name").Text() != "" || r.Sampling().Len() != 0 || !errors.Is(penstock.Output(1), penstock.ErrNoOutput) {
			t.Error("the host tells what it does not know")
		}
		return nil
	}
	if _, err := plugintest.TryOpen[probe](t, plugintest.Request{}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v, want a refusal for the defaults that are not filled in", err)
	}
	penstock.Register[probe](penstock.Manifest{Name: "test"})
	plugintest.Open[probe](t, plugintest.Request{})
}

func TestPreparer_Next(t *testing.T) {
	s := openAll(t, penstock.Manifest{Biases: 1, Splice: 2})
	does.prepare = func(n *penstock.Next) {
		m := n.Mask()
		m.AllowAll()
		m.Ban(2)
		m.Ban(1000) // there is none
		if m.Allowed(2) || !m.Allowed(1) || m.Allowed(1000) || len(m.Words()) != 1 {
			t.Error("a token could not be banned")
		}
		m.BanAll()
		m.Allow(3)
		m.Allow(1000)
		if !n.Bias(1, 2.5) || n.Bias(2, 1) {
			t.Error("a bias with room for one entry takes one")
		}
		n.Force(4, 0)
	}
	got := s.Prepare()
	if !slices.Equal(got.Mask, []uint32{8}) || !maps.Equal(got.Bias, map[penstock.Token]float32{1: 2.5}) || !slices.Equal(got.Forced, []penstock.Token{4, 0}) {
		t.Errorf("got %+v", got)
	}
	does.prepare = func(n *penstock.Next) { n.Force() }
	if got := s.Prepare(); got.Mask != nil || got.Bias != nil || got.Forced != nil {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestAccepter_Splice(t *testing.T) {
	s := openAll(t, penstock.Manifest{Hold: 2})
	does.accept = func(t penstock.Token) penstock.Accepted {
		switch t {
		case 1:
			return penstock.Stop
		case 2:
			return penstock.Splice(2, 3, 4)
		}
		return penstock.Continue
	}
	if a := s.Accept(1); !a.Stop || a.Splice {
		t.Errorf("got %+v, want to stop", a)
	}
	if a := s.Accept(2); a.Stop || !a.Splice || a.Backtrack != 2 || !slices.Equal(a.Tokens, []penstock.Token{3, 4}) || !slices.Equal(s.History, []penstock.Token{0, 3, 4}) {
		t.Errorf("got %+v and the history %v", a, s.History)
	}
}

// row is a plugin that sees whole rows.
type row struct{ weights []float32 }

func (r *row) SampleRow(v *penstock.Row) penstock.Choice {
	v.Ban(1)
	if v.Highest() > 5 {
		var sum float32
		r.weights, sum = v.Softmax(r.weights)
		return penstock.Take(v.Draw(r.weights, sum))
	}
	v.Logits()[0] = float32(v.Len())
	return penstock.Edited
}

func TestRowSampler_Choices(t *testing.T) {
	penstock.Register[row](penstock.Manifest{Name: "row"})
	s := plugintest.Open[row](t, plugintest.Request{Pieces: words})
	if !strings.Contains(s.Manifest(), `"view":"logits"`) {
		t.Errorf("the manifest asks for another view: %s", s.Manifest())
	}
	logits := []float32{1, 2, 3, 4, 5}
	if got := s.SampleRow(logits); got != penstock.Edited || !slices.Equal(logits, []float32{5, float32(math.Inf(-1)), 3, 4, 5}) {
		t.Errorf("chose %d and left %v", got, logits)
	}
	if got := s.SampleRow([]float32{0, 99, 0, 99, 0}); got != penstock.Take(3) {
		t.Errorf("chose %d, want token 3", got)
	}
}

// none looks at the history only.
type none struct{}

func (none) Sample(c *penstock.Candidates) penstock.Choice {
	if last, ok := penstock.LastToken(); ok && c.Len() == 0 {
		return penstock.Take(last)
	}
	return penstock.Edited
}

func TestSampler_NoView(t *testing.T) {
	penstock.Register[none](penstock.Manifest{Name: "none", View: penstock.None})
	s := plugintest.Open[none](t, plugintest.Request{Pieces: words, Prompt: []penstock.Token{2}})
	if got := s.Sample(nil, nil); got != penstock.Take(2) {
		t.Errorf("chose %d, want the last token", got)
	}
}

type (
	both    struct{ none }
	useless struct{}
	ruled   struct{ stopping }
	runs    struct{ stopping }
)

func (both) SampleRow(*penstock.Row) penstock.Choice { return penstock.Edited }
func (useless) Open(*penstock.Request) error         { return nil }
func (runs) Run(*penstock.Run) error                 { return nil }

// stopping has the methods of types that embed it.
type stopping struct{}

func (*stopping) Stop(penstock.Token, []byte) penstock.Verdict { return penstock.Show }
func (*stopping) Rewind(int) error                             { return nil }

// What is wrong only in a name or a parameter.
type (
	value   struct{ stopping }
	silent  struct{ stopping }
	smaple  struct{ stopping }
	lower   struct{ stopping }
	longer  struct{ stopping }
	alike   struct{ stopping }
	closing struct{ stopping }
)

func (value) Sample(penstock.Candidates) penstock.Choice { return penstock.Edited }
func (silent) Accept(penstock.Token)                     {}
func (smaple) Smaple()                                   {}
func (lower) SAMPLE()                                    {}
func (longer) Accepts()                                  {}
func (closing) Close() error                             { return nil }
func (alike) String() string                             { return "" }
func (alike) Reset()                                     {}
func (alike) Len() int                                   { return 0 }
func (alike) Less(int, int) bool                         { return false }
func (alike) Swap(int, int)                              {}
func (alike) Write([]byte) (int, error)                  { return 0, nil }
func (alike) Error() string                              { return "" }
func (alike) Reopen2()                                   {}

// TestRegister_Manifest_Mistakes wants the host to be told of what would not work, instead of a
// manifest.
func TestRegister_Manifest_Mistakes(t *testing.T) {
	for name, c := range map[string]struct {
		register func(penstock.Manifest) penstock.Registration
		want     string
	}{
		"both views":       {penstock.Register[both], "has both Sample and SampleRow"},
		"nothing":          {penstock.Register[useless], "has none of the methods"},
		"a pointer":        {penstock.Register[*none], "Register wants the type itself"},
		"a program":        {penstock.Register[runs], "has Run and a method that is called for a token"},
		"a parameter":      {penstock.Register[value], "the method Sample as a func(penstock.Candidates) penstock.Choice, which nothing calls; it must be a func(*penstock.Candidates) penstock.Choice"},
		"no result":        {penstock.Register[silent], "the method Accept as a func(uint32), which nothing calls; it must be a func(uint32) penstock.Accepted"},
		"one more result":  {penstock.Register[closing], "the method Close as a func() error, which nothing calls; it must be a func()"},
		"misspelt":         {penstock.Register[smaple], "a method Smaple, which nothing calls; Sample is"},
		"other letters":    {penstock.Register[lower], "a method SAMPLE, which nothing calls; Sample is"},
		"a letter more":    {penstock.Register[longer], "a method Accepts, which nothing calls; Accept is"},
		"names of its own": {penstock.Register[alike], ""},
		"embedded":         {penstock.Register[ruled], ""},
		"fine":             {penstock.Register[none], ""},
	} {
		c.register(penstock.Manifest{Name: "mistake"})
		text, wrong := guest.Registered.Manifest()
		if !strings.Contains(wrong, c.want) || (wrong == "") != (c.want == "") || (wrong == "") != strings.HasPrefix(string(text), `{"name":"mistake","implements":["penstock_open",`) {
			t.Errorf("%s: got %q and %s, want %q", name, wrong, text, c.want)
		}
	}
}

func TestRegister_Manifest_ListsWhatTheTypeImplements(t *testing.T) {
	for _, c := range []struct {
		register func(penstock.Manifest) penstock.Registration
		want     string
	}{
		{penstock.Register[none], `"penstock_sample"`},
		{penstock.Register[row], `"penstock_sample"`},
		{penstock.Register[ruled], `"penstock_stop","penstock_rewind"`},
		{penstock.Register[all], `"penstock_warm","penstock_prepare","penstock_sample","penstock_accept","penstock_stop"`},
	} {
		c.register(penstock.Manifest{Name: "list"})
		text, wrong := guest.Registered.Manifest()
		if want := `"implements":["penstock_open",` + c.want + `]}`; !strings.HasSuffix(string(text), want) {
			t.Errorf("got %s, %s, want %s", text, wrong, want)
		}
	}
}

// planned is a plugin with a plan, by which it is a sampler or a program.
type planned struct{ words []string }

func (p *planned) Plan(config json.Value, plan *penstock.Plan) error {
	switch config.Get("as").Text() {
	case "program":
		plan.Without, plan.Branches = []penstock.Call{penstock.CallSample, penstock.CallAccept}, 2
	case "follower":
		plan.Without, plan.Hold, plan.NoLogprob = []penstock.Call{penstock.CallRun, penstock.CallSample}, 0, true
	case "sampler":
		plan.Without, plan.View, plan.Place, plan.Candidates = []penstock.Call{penstock.CallRun}, penstock.None, penstock.First, 40
	case "nothing":
	default:
		return errors.New("config.as is unknown")
	}
	p.words = append(p.words, "planned")
	return nil
}

func (p *planned) Open(*penstock.Request) error {
	if len(p.words) != 1 {
		return errors.New("what the plan left is not there")
	}
	return nil
}

func (*planned) Sample(*penstock.Candidates) penstock.Choice { return penstock.Keep(1) }
func (*planned) Accept(penstock.Token) penstock.Accepted     { return penstock.Continue }
func (*planned) Run(*penstock.Run) error                     { return nil }

func TestPlanner_Plan_SaysWhatDiffers(t *testing.T) {
	penstock.Register[planned](penstock.Manifest{Name: "planned", Hold: 3, Branches: 4})
	for as, want := range map[string]string{
		"program":  `{"implements":["penstock_open","penstock_plan","penstock_run"],"branches":2}`,
		"follower": `{"implements":["penstock_open","penstock_plan","penstock_accept"],"hold":0,"needs":["hidden_state","note"]}`,
		"sampler":  `{"implements":["penstock_open","penstock_plan","penstock_sample","penstock_accept"],"view":"none","place":"first","candidates":40}`,
		"nothing":  `{}`,
	} {
		s := plugintest.Open[planned](t, plugintest.Request{Config: `{"as":"` + as + `"}`})
		if s.Planned != want {
			t.Errorf("%s: %s, want %s", as, s.Planned, want)
		}
		if !strings.Contains(s.Manifest(), `"optional":["penstock_plan"]`) || !strings.Contains(s.Manifest(), `"penstock_plan","penstock_sample"`) {
			t.Errorf("the manifest is %s", s.Manifest())
		}
	}
	if _, err := plugintest.TryOpen[planned](t, plugintest.Request{}); !errors.Is(err, plugintest.ErrRefused) || !strings.Contains(err.Error(), "config.as is unknown") {
		t.Errorf("got %v", err)
	}
}

func TestFuel_Native_IsThere(t *testing.T) {
	openAll(t, penstock.Manifest{})
	if penstock.Fuel() != abi.LimitHookFuel {
		t.Errorf("%d units", penstock.Fuel())
	}
}
