// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/internal/abi"

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
		remaining, _, _ := implemented(value, p.Without...)
		b = append(append(b, `"implements":`...), remaining...)
	}
	if p.View != before.View {
		b = appendText(b, comma(b, `,"view":`), string(p.View))
	}
	if p.Place != before.Place {
		b = appendText(b, comma(b, `,"place":`), string(p.Place))
	}
	for _, n := range [...]struct {
		field     string
		now, then int
	}{{`,"candidates":`, p.Candidates, before.Candidates}, {`,"hold":`, p.Hold, before.Hold},
		{`,"take_back":`, p.TakeBack, before.TakeBack}, {`,"state_layer":`, p.StateLayer, before.StateLayer}, {`,"branches":`, p.Branches, before.Branches}} {
		switch field := comma(b, n.field); {
		case n.now == n.then:
		case n.now == 0:
			b = append(append(b, field...), '0')
		default:
			b = appendNumber(b, field, n.now)
		}
	}
	if p.NoLogprob || p.NoHiddenState || p.NoNotes {
		b = append(b, comma(b, `,"needs":[`)...)
		for _, need := range [...]struct {
			not  bool
			name string
		}{{p.NoLogprob, `,"logprob"`}, {p.NoHiddenState, `,"hidden_state"`}, {p.NoNotes, `,"note"`}} {
			if !need.not {
				b = append(b, comma(b, need.name)...)
			}
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// comma is text that begins with a comma, without it where nothing stands before.
func comma(b []byte, text string) string {
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
