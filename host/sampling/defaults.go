// SPDX-License-Identifier: MIT

package sampling

import "maps"

// Defaults are the parameters of requests that do not say them. nil are llama.cpp's.
type Defaults struct {
	params Params
	seeded bool
}

// NewDefaults are llama.cpp's, with the values that layers of texts have (Params.Over) in their
// place, a later layer before an earlier one. A negative seed is none.
func NewDefaults(layers ...map[string]string) (*Defaults, error) {
	said := map[string]string{}
	for _, layer := range layers {
		maps.Copy(said, layer)
	}
	params, err := Default().Over(said)
	if err != nil {
		return nil, err
	}
	return &Defaults{params, said["seed"] != "" && said["seed"][0] != '-'}, nil
}

// Params are those of one request. Their seed is random where none was said.
func (d *Defaults) Params() Params {
	p := Default()
	if d != nil {
		p = d.params
	}
	if !d.Seeded() {
		p.Seed = RandomSeed()
	}
	return p
}

// Seeded reports whether a seed was said.
func (d *Defaults) Seeded() bool { return d != nil && d.seeded }
