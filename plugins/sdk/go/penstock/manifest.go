// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// View is what a sampler sees. It follows from the plugin's method: Sample sees candidates,
// SampleRow the whole row.
type View string

// None shows the sampler nothing: it uses only the history, and takes a token or none.
const None View = "none"

// Place is where a plugin is placed in a chain that does not name it.
type Place string

// The places: before or after the chain's own stages. The default is last for a plugin that sees
// candidates, and first for others.
const (
	First Place = "first"
	Last  Place = "last"
)

// Manifest describes a plugin.
type Manifest struct {
	Name         string // [a-z0-9][a-z0-9._-]{0,63}
	Version      string
	Summary      string // one line for people
	View         View   // None, or empty: what the method says
	Candidates   int    // how many candidates Sample sees at most, 1 to 4,096; 0 means 256
	Hold         int    // how many tokens the plugin may take back, 0 to 256; the stream runs that far behind
	TakeBack     int    // how many tokens more than usual an answer may compute, 0 to 1,000,000: for a plugin that takes many back for each that stays
	StateLayer   int    // the layer whose output HiddenState gives: n of the first is 1, of the last -1; 0 means the last, after the norm
	StrictMask   bool   // what other plugins force, choose or splice must be allowed by Prepare's mask; else they are at fault
	Place        Place  // where it stands in chains that do not name it
	ConfigSchema string // a JSON schema that the host checks a request's config against; empty allows any object

	Branches       int    // of a Runner: how many branches it has at once, 1 to 64; 0 means 1
	BranchesConfig string // of a Runner: the property of the configuration that says for how many a request asks

	Biases int // how many biases Prepare, or Sample, sets at most; 0 means 256
	Splice int // how many tokens a Force or a Splice has at most; 0 means 256
}

// json writes what penstock_describe emits. Fields with their zero value are left to the host.
// plans tells whether there is a Plan: hosts that do not know it load the plugin nevertheless.
func (m *Manifest) json(rows, plans bool, implements []byte) []byte {
	view := m.View
	if rows && view == "" {
		view = "logits"
	}
	b := json.AppendText([]byte(`{"name":`), m.Name)
	b = appendText(b, `,"version":`, m.Version)
	b = appendText(b, `,"summary":`, m.Summary)
	b = appendText(b, `,"view":`, string(view))
	b = appendText(b, `,"place":`, string(m.Place))
	b = appendNumber(b, `,"candidates":`, m.Candidates)
	b = appendNumber(b, `,"hold":`, m.Hold)
	b = appendNumber(b, `,"take_back":`, m.TakeBack)
	b = appendNumber(b, `,"state_layer":`, m.StateLayer)
	if m.StrictMask {
		b = append(b, `,"strict_mask":true`...)
	}
	b = appendNumber(b, `,"branches":`, m.Branches)
	b = appendText(b, `,"branches_config":`, m.BranchesConfig)
	if plans {
		b = append(b, `,"optional":["penstock_plan"]`...)
	}
	if m.ConfigSchema != "" {
		b = append(append(b, `,"config_schema":`...), m.ConfigSchema...)
	}
	return append(append(append(b, `,"implements":`...), implements...), '}')
}

//go:noinline
func appendText(b []byte, field, text string) []byte {
	if text == "" {
		return b
	}
	return json.AppendText(append(b, field...), text)
}

// appendNumber does without strconv.AppendInt, which is larger than the rest of this file.
//
//go:noinline
func appendNumber(b []byte, field string, n int) []byte {
	if n == 0 {
		return b
	}
	b = append(b, field...)
	if n < 0 { // the host refuses it, in its own words
		b, n = append(b, '-'), -n
	}
	var digits [20]byte
	at := len(digits)
	for ; n > 0; n /= 10 {
		at--
		digits[at] = '0' + byte(n%10)
	}
	return append(b, digits[at:]...)
}

// A plugin that would load but not work is not described: the host does not load it, and logs why.
//
//go:wasmexport penstock_describe
func exportDescribe() {
	p, wrong := guest.Registered, ""
	var text []byte
	switch {
	case p == nil:
		wrong = "no plugin is registered: write `var _ = penstock.Register[T](…)` at package level"
	case p.Before != nil:
		wrong = "several plugins are registered: a module is one"
	case !Feature(abi.FeatureImplements):
		wrong = "this host calls all that a module exports: the plugin needs a newer one"
	default:
		text, wrong = p.Manifest()
	}
	if wrong != "" {
		Log(Error, wrong) // an earlier host says that nothing was emitted, and has this in its log
		refuse(errors.New(wrong))
		return
	}
	emit(text)
}

// describe is the manifest as JSON, or what is wrong with the plugin's methods.
func describe(m *Manifest, value any) (text []byte, wrong string) {
	_, rows := value.(RowSampler)
	has, works, others := listImplemented(value)
	switch wrong := wrongMethod(value); {
	case wrong != "":
		return nil, wrong
	case rows && is[Sampler](value):
		return nil, "the plugin's type has both Sample and SampleRow: a plugin sees the candidates or the whole row. Take one out"
	case !works:
		return nil, "the plugin's type has none of the methods Rewrite, Render, Prepare, Sample, SampleRow, Accept, Draft, Stop, Filter and Run, or not as the SDK wants them: it would do nothing. (Register wants the type itself, no pointer to it.)"
	case others && is[Runner](value) && !is[Planner](value):
		return nil, "the plugin's type has Run and a method that is called for a token or a prompt: a program writes the answer itself. Take the other out, or add Plan, which says for each configuration what the plugin is"
	}
	return m.json(rows, is[Planner](value), has), ""
}

// listImplemented lists the exports that the plugin's type has methods for, as JSON,
// without those that a plan leaves out. works tells whether one of them does something, others
// whether one is called for a token or a prompt.
func listImplemented(value any, without ...Call) (list []byte, works, others bool) {
	list = append(list, `["penstock_open"`...)
	for _, x := range [...]struct {
		found bool
		name  string // without penstock_
		works bool   // a plugin that has this one does something
	}{
		{is[Warmer](value), "warm", false}, {is[Planner](value), "plan", false}, {is[Rewriter](value), "messages", true}, {is[Renderer](value), "template", true},
		{is[Preparer](value), "prepare", true}, {is[Sampler](value) || is[RowSampler](value), "sample", true},
		{is[Accepter](value), "accept", true}, {is[Stopper](value), "stop", true}, {is[Filterer](value), "filter", true}, {is[Drafter](value), "draft", true},
		{is[Rewinder](value), "rewind", false}, {is[Runner](value), "run", true}, {is[Closer](value), "close", false},
	} {
		for _, c := range without {
			x.found = x.found && c != Call("penstock_"+x.name)
		}
		if x.found {
			list = append(append(append(list, `,"penstock_`...), x.name...), '"')
			works = works || x.works
			others = others || x.name == "rewind" || x.works && x.name != "run"
		}
	}
	return append(list, ']'), works, others
}

func is[I any](value any) bool {
	_, ok := value.(I)
	return ok
}

// Plan is what requests with one configuration need of the host. Planner's Plan gets it as the
// manifest has it, and can only lower it:
//
//	func (b *banned) Plan(config json.Value, plan *penstock.Plan) error {
//		b.words = read(config)
//		plan.Hold = longest(b.words) // of the manifest's 24
//		if len(b.words) == 0 {
//			plan.Without = []penstock.Call{penstock.CallAccept, penstock.CallPrepare}
//		}
//		return nil
//	}
type Plan struct {
	Without    []Call // methods that are not called
	View       View   // None: Sample is shown nothing
	Candidates int    // how many candidates Sample sees at most
	Hold       int    // how many tokens the plugin may take back
	TakeBack   int    // how many tokens more than usual an answer may compute
	StateLayer int    // the layer whose output HiddenState gives
	Place      Place  // where it stands in chains that do not name it
	Branches   int    // of a Runner: how many branches it has at once

	NoLogprob     bool // Logprob is not asked for: it is not computed
	NoHiddenState bool // HiddenState is not asked for: it is not computed
	NoNotes       bool // Note is not called
}

// makePlan has the plugin plan, and hands to the host what differs from the manifest.
func makePlan(p Planner, value any) error {
	config, err := readConfig()
	if err != nil {
		return err
	}
	before := Plan{View: manifest.View, Candidates: manifest.Candidates, Hold: manifest.Hold, TakeBack: manifest.TakeBack, StateLayer: manifest.StateLayer, Place: manifest.Place, Branches: manifest.Branches}
	if before.Candidates == 0 {
		before.Candidates = abi.LimitDefaultCandidates
	}
	if before.Branches == 0 {
		before.Branches = 1
	}
	plan := before
	if err := p.Plan(config, &plan); err != nil {
		return err
	}
	emit(plan.json(&before, value))
	return nil
}

// json writes what differs from the plan before.
func (p *Plan) json(before *Plan, value any) []byte {
	b := []byte(`{`)
	if len(p.Without) > 0 {
		remaining, _, _ := listImplemented(value, p.Without...)
		b = append(append(b, `"implements":`...), remaining...)
	}
	if p.View != before.View {
		b = appendText(b, dropFirstComma(b, `,"view":`), string(p.View))
	}
	if p.Place != before.Place {
		b = appendText(b, dropFirstComma(b, `,"place":`), string(p.Place))
	}
	for _, n := range [...]struct {
		field     string
		now, then int
	}{{`,"candidates":`, p.Candidates, before.Candidates}, {`,"hold":`, p.Hold, before.Hold},
		{`,"take_back":`, p.TakeBack, before.TakeBack}, {`,"state_layer":`, p.StateLayer, before.StateLayer}, {`,"branches":`, p.Branches, before.Branches}} {
		switch field := dropFirstComma(b, n.field); {
		case n.now == n.then:
		case n.now == 0:
			b = append(append(b, field...), '0')
		default:
			b = appendNumber(b, field, n.now)
		}
	}
	if p.NoLogprob || p.NoHiddenState || p.NoNotes {
		b = append(b, dropFirstComma(b, `,"needs":[`)...)
		for _, need := range [...]struct {
			not  bool
			name string
		}{{p.NoLogprob, `,"logprob"`}, {p.NoHiddenState, `,"hidden_state"`}, {p.NoNotes, `,"note"`}} {
			if !need.not {
				b = append(b, dropFirstComma(b, need.name)...)
			}
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// dropFirstComma returns a text without the comma that it begins with where nothing stands before.
func dropFirstComma(b []byte, text string) string {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return text[1:]
	}
	return text
}

// Fuel returns how much of its fuel the running call has left, in units; −1 on a host that does not
// tell. It is the same on every machine, so a plugin may decide by it, for example to end a search.
//
//	for penstock.Fuel() > 1_000_000 && !s.done() {
//		s.improve()
//	}
func Fuel() int64 {
	if !Feature("fuel") {
		return -1
	}
	return abi.Fuel()
}

// Elapsed returns how long ago the request came, in milliseconds, when the running call began; −1
// in Warm and Plan, and on a host that does not tell. A plugin that decides by it gets other
// answers on a slower machine. Recordings have what it returned, and replays return the same.
func Elapsed() int {
	if !Feature("elapsed") {
		return -1
	}
	return int(abi.Elapsed())
}
