// SPDX-License-Identifier: MIT

package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
)

// needs are the imports for which the host computes or keeps something beside the call, by their
// names in a plan.
var needs = map[string][]string{
	"logprob": {abi.ImportLogprob}, "hidden_state": {abi.ImportState, abi.ImportBranchHiddenState}, "note": {abi.ImportNote},
}

// Needed are the names of what the host computes or keeps for the plugin, as a plan has them.
func (p *Plugin) Needed() []string {
	names := []string{}
	for name, imports := range needs {
		if slices.ContainsFunc(imports, p.Needs) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// planned is what a plan may say. What it leaves out is nil.
type planned struct {
	Implements   *[]string
	View         *View
	Candidates   *int
	Hold         *int
	TakeBack     *int
	Place        *Place
	Branches     *int
	StateLayer   *int
	Summary      *string
	ConfigSchema *json.RawMessage
	Needs        *[]string
}

// read takes the fields of a plan's text.
func (s *planned) read(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := checkDepth(text); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("what was handed to emit is %s; it must be a JSON object", excerpt.Of(string(text), 80))
	}
	if err := takeFields(fields, map[string]any{
		"implements": &s.Implements, "view": &s.View, "candidates": &s.Candidates, "hold": &s.Hold, "take_back": &s.TakeBack, "place": &s.Place,
		"branches": &s.Branches, "summary": &s.Summary, "config_schema": &s.ConfigSchema, "needs": &s.Needs, "state_layer": &s.StateLayer,
	}); err != nil {
		return err
	}
	for _, name := range []string{"name", "version", "strict_mask", "optional", "branches_config"} {
		if value, ok := fields[name]; ok {
			return fmt.Errorf("%s is %s; a plan cannot change it: leave it out, the manifest's counts", name, excerpt.Of(string(value), 80))
		}
	}
	return nil
}

// narrowed is the plugin as a plan has it, which is the text that its guest handed to emit.
// module is the one of the plan.
func (p *Plugin) narrowed(module *guest.Module, text string) (*Plugin, error) {
	q := &Plugin{loaded: p.loaded, Module: module, Manifest: p.Manifest, model: p.model, of: p}
	var s planned
	if err := s.read([]byte(text)); err != nil {
		return nil, err
	}
	m := &q.Manifest
	if err := s.narrowExports(m, module); err != nil {
		return nil, err
	}
	if err := s.narrowNumbers(m, p.Manifest.View); err != nil {
		return nil, err
	}
	if s.StateLayer != nil { // any costs the same
		m.StateLayer = *s.StateLayer
	}
	if s.Summary != nil {
		m.Summary = *s.Summary
	}
	if s.ConfigSchema != nil {
		m.ConfigSchema = *s.ConfigSchema
		q.asked = sync.OnceValues(func() (*Schema, error) { return NewSchema(m.ConfigSchema) })
	}
	if err := cmp.Or(m.check(module.Has(guest.Sample)), m.checkImplements(module.Exports), m.checkProgram(module)); err != nil {
		return nil, err
	}
	q.Exports = module.Exports
	if s.Needs == nil {
		return q, nil
	}
	q.needs = []string{}
	for _, name := range *s.Needs {
		imports, ok := needs[name]
		if !ok {
			return nil, fmt.Errorf(`needs has %q; it may have "logprob", "hidden_state" and "note"`, excerpt.Of(name, 80))
		}
		q.needs = append(q.needs, imports...)
	}
	return q, nil
}

// narrowExports has the host make only the calls that the plan says, and drops what the manifest
// says of others.
func (s *planned) narrowExports(m *Manifest, module *guest.Module) error {
	hold := m.Hold
	if s.Hold != nil {
		if *s.Hold < 0 || *s.Hold > m.Hold {
			return tooMuch("hold", *s.Hold, 0, m.Hold)
		}
		hold = *s.Hold
	}
	var list []string
	if s.Implements != nil {
		list = append([]string{}, *s.Implements...)
		for _, name := range list {
			if !slices.Contains(module.Exports, name) {
				return fmt.Errorf("implements has %q, which the manifest does not implement: a plan can only leave calls out", excerpt.Of(name, 80))
			}
		}
		m.Implements = list
	}
	module.Narrow(list, hold)
	m.Hold = hold
	if !module.Has(guest.Sample) {
		m.View = ViewNone
	}
	if !module.Has(guest.Run) {
		m.Branches, m.BranchesConfig = 0, ""
	}
	return nil
}

// breadth orders views by what they show.
var breadth = map[View]int{ViewNone: 0, ViewCandidates: 1, ViewLogits: 2}

// narrowNumbers takes the plan's view and numbers, as far as they are no more than the manifest's.
// was is the view of the manifest.
func (s *planned) narrowNumbers(m *Manifest, was View) error {
	if s.View != nil {
		b, ok := breadth[*s.View]
		if !ok || b > breadth[was] {
			return fmt.Errorf("view is %q; the manifest's is %q: a plan can only have that or a narrower one", excerpt.Of(string(*s.View), 80), was)
		}
		m.View = *s.View
	}
	if m.View != was {
		m.Place = ""
		m.fill(m.View == ViewCandidates)
	}
	if s.Place != nil {
		m.Place = *s.Place
	}
	for _, n := range []struct {
		name  string
		said  *int
		field *int
		least int
	}{{"candidates", s.Candidates, &m.Candidates, 1}, {"take_back", s.TakeBack, &m.TakeBack, 0}, {"branches", s.Branches, &m.Branches, 1}} {
		if n.said == nil {
			continue
		}
		if n.name == "branches" && m.Branches == 0 {
			return fmt.Errorf("branches is %d; branches are for plans with %s: leave it out", *n.said, abi.ExportRun)
		}
		if *n.said < n.least || *n.said > *n.field {
			return tooMuch(n.name, *n.said, n.least, *n.field)
		}
		*n.field = *n.said
	}
	return nil
}

// tooMuch is the error of a number that a plan would widen.
func tooMuch(field string, said, least, most int) error {
	return fmt.Errorf("%s is %d; the manifest's is %d: a plan can have %d to %d", field, said, most, least, most)
}
