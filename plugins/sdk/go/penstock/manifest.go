// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/json"

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
