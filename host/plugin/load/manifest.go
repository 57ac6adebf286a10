// SPDX-License-Identifier: MIT

package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/spelling"
	"github.com/penstock/penstock/plugins/abi"
)

// View says what a plugin's sample sees.
type View string

// The views.
const (
	ViewCandidates View = "candidates"
	ViewLogits     View = "logits"
	ViewNone       View = "none"
)

// Place says where a plugin stands in a chain that does not name it.
type Place string

// The places.
const (
	PlaceFirst Place = "first" // before the chain's own stages
	PlaceLast  Place = "last"  // after them
)

// Manifest is a plugin's description of itself. The zero values of the optional fields are filled
// in when it is read.
type Manifest struct {
	Name         string          `json:"name"`
	Version      string          `json:"version,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	View         View            `json:"view"`
	Candidates   int             `json:"candidates"` // how many candidates a view has at most
	Hold         int             `json:"hold"`       // tokens the plugin may take back
	TakeBack     int             `json:"take_back,omitempty"`
	StrictMask   bool            `json:"strict_mask,omitempty"` // tokens that others force, choose or splice must fit the mask
	Place        Place           `json:"place"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	Implements   []string        `json:"implements,omitzero"` // the exports that the host calls; nil: all of them
	Optional     []string        `json:"optional,omitempty"`  // exports that the plugin has for hosts that know them
	Branches     int             `json:"branches,omitempty"`  // how many branches a program has at once
	// StateLayer is the layer whose hidden states the plugin reads: counted from 1, or from the last
	// one, which is -1; 0: the last one, after the norm.
	StateLayer int `json:"state_layer,omitempty"`
	// BranchesConfig is the property of the configuration by which a request asks for fewer branches.
	BranchesConfig string `json:"branches_config,omitempty"`

	// Unknown has the fields that this host does not know. A later one may.
	Unknown map[string]json.RawMessage `json:"-"`
}

// MarshalJSON writes the manifest with its unknown fields.
func (m Manifest) MarshalJSON() ([]byte, error) {
	type known Manifest // without this method
	text, err := json.Marshal(known(m))
	if err != nil || len(m.Unknown) == 0 {
		return text, err
	}
	unknown, err := json.Marshal(m.Unknown)
	if err != nil {
		return nil, err
	}
	return append(append(text[:len(text)-1], ','), unknown[1:]...), nil
}

// read takes the fields of a manifest's text.
func (m *Manifest) read(text []byte) error {
	if err := json.Unmarshal(text, &m.Unknown); err != nil {
		return err
	}
	return takeFields(m.Unknown, map[string]any{
		"name": &m.Name, "version": &m.Version, "summary": &m.Summary, "view": &m.View, "candidates": &m.Candidates, "hold": &m.Hold,
		"take_back": &m.TakeBack, "strict_mask": &m.StrictMask, "place": &m.Place, "config_schema": &m.ConfigSchema, "optional": &m.Optional,
		"implements": &m.Implements,
		"branches":   &m.Branches, "branches_config": &m.BranchesConfig, "state_layer": &m.StateLayer,
	})
}

// takeFields decodes the known fields of an object and removes them. Names must match exactly,
// whereas encoding/json would take "Hold" for "hold".
func takeFields(fields map[string]json.RawMessage, known map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(known)) { // sorted, so that the first error is always the same
		value, ok := fields[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, known[name]); err != nil {
			return fmt.Errorf("%s is %s: %w", name, excerpt.Of(string(value), 80), err)
		}
		delete(fields, name)
	}
	return nil
}

// ValidName reports whether a plugin may have a name.
var ValidName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`).MatchString

// longestText bounds version and summary, in bytes.
const longestText = 1024

// ParseManifest reads and checks a manifest: what describe emitted, or what an index has. exports
// lists the ABI's exports of the module. NewSchema checks the schema. The error wraps
// plugin.ErrManifest.
func ParseManifest(text []byte, exports []string) (Manifest, error) {
	m := Manifest{Candidates: abi.LimitDefaultCandidates}
	if err := checkDepth(text); err != nil {
		return m, err
	}
	if err := m.read(text); err != nil {
		return m, fmt.Errorf("%w: %w", plugin.ErrManifest, err)
	}
	samples := m.implements(exports, abi.ExportSample)
	m.fill(samples)
	if err := m.check(samples); err != nil {
		return m, err
	}
	return m, m.checkImplements(exports)
}

// fill sets the defaults of what the manifest leaves out.
func (m *Manifest) fill(samples bool) {
	if m.View == "" {
		m.View = ViewNone
		if samples {
			m.View = ViewCandidates
		}
	}
	if m.Place == "" {
		m.Place = PlaceFirst
		if m.View == ViewCandidates {
			m.Place = PlaceLast
		}
	}
}

// check refuses values that are not allowed.
func (m *Manifest) check(samples bool) error {
	switch {
	case !ValidName(m.Name):
		return fmt.Errorf("%w: name is %q; it must match [a-z0-9][a-z0-9._-]{0,63}", plugin.ErrManifest, m.Name)
	case len(m.Version) > longestText || len(m.Summary) > longestText:
		return fmt.Errorf("%w: version and summary may have %d bytes each", plugin.ErrManifest, longestText)
	case m.View != ViewCandidates && m.View != ViewLogits && m.View != ViewNone:
		return fmt.Errorf("%w: view is %q; it must be %q, %q or %q", plugin.ErrManifest, m.View, ViewCandidates, ViewLogits, ViewNone)
	case m.View != ViewNone && !samples:
		return fmt.Errorf("%w: view is %q, but %s is not exported, or not in implements; leave view out or make it %q", plugin.ErrManifest, m.View, abi.ExportSample, ViewNone)
	case m.Candidates < 1 || m.Candidates > abi.LimitCandidates:
		return fmt.Errorf("%w: candidates is %d; it must be from 1 to %d", plugin.ErrManifest, m.Candidates, abi.LimitCandidates)
	case m.Hold < 0 || m.Hold > abi.LimitHold:
		return fmt.Errorf("%w: hold is %d; it must be from 0 to %d", plugin.ErrManifest, m.Hold, abi.LimitHold)
	case m.TakeBack < 0 || m.TakeBack > abi.LimitTakeBack:
		return fmt.Errorf("%w: take_back is %d; it must be from 0 to %d", plugin.ErrManifest, m.TakeBack, abi.LimitTakeBack)
	case m.StateLayer < -abi.LimitStateLayer || m.StateLayer > abi.LimitStateLayer:
		return fmt.Errorf("%w: state_layer is %d; it must be from -%d to %d", plugin.ErrManifest, m.StateLayer, abi.LimitStateLayer, abi.LimitStateLayer)
	case m.Place != PlaceFirst && m.Place != PlaceLast:
		return fmt.Errorf("%w: place is %q; it must be %q or %q", plugin.ErrManifest, m.Place, PlaceFirst, PlaceLast)
	case m.Place == PlaceLast && m.View == ViewLogits:
		return fmt.Errorf("%w: place is %q, but the view is %q: what sees all logits must stand before the stages that drop some", plugin.ErrManifest, m.Place, m.View)
	}
	return nil
}

// checkDepth checks that text is one JSON value that is not nested too deep, before anything
// recursive looks at it.
func checkDepth(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: it is not UTF-8", plugin.ErrManifest)
	}
	const deepest = abi.LimitSchemaDepth + 1 // the manifest itself is a level
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	depth, values := 0, 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 && values == 1 {
			return nil
		} else if err != nil {
			return fmt.Errorf("%w: it must be one JSON object: %w", plugin.ErrManifest, err)
		}
		if n, ok := t.(json.Number); ok && !isDouble(string(n)) {
			return fmt.Errorf("%w: the number %s is too large, too close to 0 or longer than %d bytes", plugin.ErrManifest, excerpt.Of(string(n), 80), longestNumber)
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > deepest {
			return fmt.Errorf("%w: config_schema is nested more than %d levels deep", plugin.ErrManifest, abi.LimitSchemaDepth)
		}
		if depth == 0 {
			values++
		}
	}
}

// longestNumber bounds a number, in bytes: every double can be written in fewer.
const longestNumber = 400

// isDouble reports whether a double can hold a number, rounded. Comparing other numbers with a
// schema's bounds would take texts of a million digits. The text itself must be short as well,
// since reading digits takes time in proportion to their square.
func isDouble(text string) bool {
	if len(text) > longestNumber {
		return false
	}
	n, err := strconv.ParseFloat(text, 64)
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	return err == nil && (n != 0 || !strings.ContainsAny(digits, "123456789"))
}

// implements reports whether the plugin implements an export: it is among the module's exports, and
// in the manifest's list, if there is one.
func (m *Manifest) implements(exports []string, export string) bool {
	return slices.Contains(exports, export) && (m.Implements == nil || slices.Contains(m.Implements, export))
}

// checkImplements refuses a list with an export that cannot be called, or without one that the
// plugin needs.
func (m *Manifest) checkImplements(exports []string) error {
	for _, name := range m.Implements {
		switch {
		case !abi.Has(abi.Exports, name) && slices.Contains(m.Optional, name):
		case !abi.Has(abi.Exports, name):
			return fmt.Errorf("%w: implements names %q, which is no export of ABI v1; %s is the nearest. If it is for hosts that know it, name it in optional too",
				plugin.ErrManifest, name, nearestExport(name))
		case !slices.Contains(exports, name):
			return fmt.Errorf("%w: implements names %s, which the module does not export", plugin.ErrManifest, name)
		}
	}
	binds := ""
	switch {
	case m.View != ViewNone:
		binds = fmt.Sprintf("the view %q", m.View)
	case m.implements(exports, abi.ExportStop):
		binds = abi.ExportStop
	case m.implements(exports, abi.ExportFilter):
		binds = abi.ExportFilter
	}
	if m.Implements != nil && binds != "" && !m.implements(exports, abi.ExportOpen) {
		return fmt.Errorf("%w: implements lacks %s, which binds the buffer of %s", plugin.ErrManifest, abi.ExportOpen, binds)
	}
	return nil
}

// IsProgram reports whether the plugin owns its request: it has penstock_run.
func (p *Plugin) IsProgram() bool { return p.Module.Has(guest.Run) }

// Branches returns how many branches the plugin has at once in a request with this configuration,
// which CheckConfig has checked; 0: it is no program. If the configuration does not say, the
// manifest does.
func (p *Plugin) Branches(config json.RawMessage) int {
	m := &p.Manifest
	if !p.IsProgram() || m.BranchesConfig == "" {
		return m.Branches
	}
	var properties map[string]json.RawMessage
	asked := 0
	if json.Unmarshal(config, &properties) != nil || json.Unmarshal(properties[m.BranchesConfig], &asked) != nil {
		return m.Branches
	}
	return max(1, min(asked, m.Branches))
}

// checkExports checks that the plugin's exports go together. If it plans, this is checked for each
// plan.
func (p *Plugin) checkExports() error {
	if !p.Module.Has(guest.Plan) {
		return p.Manifest.checkProgram(p.Module)
	}
	if why := p.Module.Immovable(); why != "" {
		return fmt.Errorf("%w: %s cannot be called: %s, so no copy of what it leaves in memory can be made; leave it out", plugin.ErrExport, abi.ExportPlan, why)
	}
	return p.Manifest.checkBranches(p.Module)
}

// checkProgram checks the manifest of a program, and that the plugin implements no call for a token
// or a prompt, which the program owns.
func (m *Manifest) checkProgram(module *guest.Module) error {
	if module.Has(guest.Run) {
		for _, e := range []guest.Export{guest.Prepare, guest.Sample, guest.Accept, guest.Stop, guest.Filter, guest.Rewind, guest.Template} {
			if module.Has(e) {
				return fmt.Errorf("%w: it has %s and %s; a program is called for no token and writes no prompt", plugin.ErrExport, abi.ExportRun, e)
			}
		}
	}
	return m.checkBranches(module)
}

// checkBranches checks how many branches a program has, and sets the default.
func (m *Manifest) checkBranches(module *guest.Module) error {
	if !module.Has(guest.Run) {
		if m.Branches != 0 || m.BranchesConfig != "" {
			return fmt.Errorf("%w: branches are for plugins with %s", plugin.ErrManifest, abi.ExportRun)
		}
		return nil
	}
	if m.Branches == 0 {
		m.Branches = 1
	}
	if m.Branches < 1 || m.Branches > abi.LimitBranches {
		return fmt.Errorf("%w: branches is %d; it must be from 1 to %d", plugin.ErrManifest, m.Branches, abi.LimitBranches)
	}
	return nil
}

// exportPrefix begins the names of all exports of this ABI and of later ones.
const exportPrefix = "penstock_"

// checkSpelling refuses an export with the ABI's prefix that the ABI does not have: it would never
// be called, and the plugin would seem to do nothing. It is allowed if the manifest lists it as
// optional, or has a list of what it implements.
func checkSpelling(names []string, m *Manifest) error {
	if m.Implements != nil {
		return nil
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, exportPrefix) || slices.Contains(m.Optional, name) || abi.Has(abi.Exports, name) {
			continue
		}
		return fmt.Errorf("%w: %s is no export of ABI v1; %s is the nearest. If it is for hosts that know it, name it in the manifest's list optional",
			plugin.ErrExport, name, nearestExport(name))
	}
	return nil
}

// nearestExport returns the ABI's export with the smallest edit distance.
func nearestExport(name string) string {
	best, least := "", 0
	for _, s := range abi.Exports {
		if n := spelling.Distance(name, s.Name); best == "" || n < least {
			best, least = s.Name, n
		}
	}
	return best
}
