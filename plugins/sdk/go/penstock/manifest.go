// SPDX-License-Identifier: MIT

package penstock

import (
	"strconv"

	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// View is what a sampler gets to see.
type View string

// The views. Candidates, the default for a plugin that imports package sampler, are the best tokens, best first; Logits is
// the whole row, which costs a copy and a pass over the vocabulary; with None the sampler sees only the history.
const (
	Candidates View = "candidates"
	Logits     View = "logits"
	None       View = "none"
)

// Place is where a plugin stands in a chain that does not name it.
type Place string

// The places: before or after the chain's own stages. Left out, a plugin that sees candidates stands last, any other first.
const (
	First Place = "first"
	Last  Place = "last"
)

// Manifest is what a plugin says of itself.
type Manifest struct {
	Name         string // [a-z0-9][a-z0-9._-]{0,63}
	Version      string
	Summary      string // one line for people
	View         View
	Candidates   int    // how many candidates the sampler sees at most, 1 to 4,096; 0 means 256
	Hold         int    // how many tokens the plugin may take back, 0 to 256; the stream runs that far behind
	Place        Place  // where it stands in chains that do not name it
	ConfigSchema string // a JSON schema that the host checks a request's config against; empty allows any object
}

// json writes what penstock_describe hands over. Fields with their zero value are left to the host.
func (m *Manifest) json() []byte {
	b := append([]byte(nil), `{"name":`...)
	b = json.AppendText(b, m.Name)
	for _, f := range [...]struct{ name, text string }{{"version", m.Version}, {"summary", m.Summary}, {"view", string(m.View)}, {"place", string(m.Place)}} {
		if f.text != "" {
			b = append(append(append(b, ',', '"'), f.name...), '"', ':')
			b = json.AppendText(b, f.text)
		}
	}
	for _, f := range [...]struct {
		name   string
		number int
	}{{"candidates", m.Candidates}, {"hold", m.Hold}} {
		if f.number != 0 {
			b = append(append(append(b, ',', '"'), f.name...), '"', ':')
			b = strconv.AppendInt(b, int64(f.number), 10)
		}
	}
	if m.ConfigSchema != "" {
		b = append(append(b, `,"config_schema":`...), m.ConfigSchema...)
	}
	return append(b, '}')
}
