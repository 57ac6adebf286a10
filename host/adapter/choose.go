// SPDX-License-Identifier: MIT

package adapter

import (
	"slices"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// SetScales implements serving.Adapters.
func (r *Registry) SetScales(scales []serving.AdapterScale) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	set, err := r.find(scales)
	if err != nil {
		return err
	}
	for i := range r.loaded {
		r.loaded[i].Scale = set[i]
	}
	return nil
}

// find is the scale of each loaded adapter, 0 for those that are not named.
func (r *Registry) find(scales []serving.AdapterScale) ([]float32, error) {
	set, named := make([]float32, len(r.loaded)), make([]bool, len(r.loaded))
	for _, s := range scales {
		i := slices.IndexFunc(r.loaded, func(e entry) bool { return e.Name == s.Name || s.Name == "" && e.ID == s.ID })
		if i < 0 {
			return nil, s.UnknownAdapter(r.list())
		}
		if named[i] {
			return nil, refusal.Invalid(s.Field, "%s names the adapter %q, which is in the list already", s.Field, r.loaded[i].Name)
		}
		set[i], named[i] = s.Scale, true
	}
	return set, nil
}

// Choose implements serving.Adapters.
func (r *Registry) Choose(scales []serving.AdapterScale, prompt []scheduler.Token) (_ scheduler.Adapters, from int, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.loaded) == 0 && len(scales) == 0 {
		return nil, 0, nil
	}
	set := make([]float32, len(r.loaded))
	for i, e := range r.loaded {
		set[i] = e.Scale
	}
	if len(scales) > 0 {
		var err error
		if set, err = r.find(scales); err != nil {
			return nil, 0, err
		}
	}
	var chosen []engine.Scaled
	var invocation [][]int32 // of the chosen that have one
	for i, scale := range set {
		if scale == 0 {
			continue
		}
		chosen = append(chosen, engine.Scaled{Adapter: r.loaded[i].adapter, Scale: scale})
		if tokens := r.loaded[i].InvocationTokens; len(tokens) > 0 {
			invocation = append(invocation, tokens)
		}
	}
	switch {
	case len(invocation) == 0 || len(invocation) < len(chosen): // beside another adapter, an activated one counts everywhere, as in llama-server
		return engine.Adapters(chosen), 0, nil
	case len(invocation) > 1:
		return nil, 0, refusal.Invalid("lora", "lora names %d activated adapters (aLoRA); a request can have one", len(invocation))
	}
	at := last(prompt, invocation[0])
	if at < 0 {
		return nil, 0, nil
	}
	return engine.Adapters(chosen), max(at-1, 0), nil // llama-server has it count from the token before on
}

// Named implements serving.Adapters.
func (r *Registry) Named(key string) (scales []serving.AdapterScale, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	loaded := make([]*engine.Adapter, len(r.loaded))
	for i, e := range r.loaded {
		loaded[i] = e.adapter
	}
	set, ok := engine.OfKey(key, loaded)
	for _, s := range set {
		info := r.loaded[slices.Index(loaded, s.Adapter)].AdapterInfo
		scales = append(scales, serving.AdapterScale{ID: info.ID, Name: info.Name, Scale: s.Scale})
	}
	return scales, ok
}

// last is where tokens stand in a prompt for the last time; -1: nowhere.
func last(prompt, tokens []int32) int {
	for at := len(prompt) - len(tokens); at >= 0; at-- {
		if slices.Equal(prompt[at:at+len(tokens)], tokens) {
			return at
		}
	}
	return -1
}
