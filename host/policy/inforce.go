// SPDX-License-Identifier: MIT

package policy

import (
	"sync"
	"sync/atomic"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
)

// inForce is what plugins learn about the sampling parameters of their answer: those that are in
// force when they ask. It is safe for concurrent use.
type inForce struct {
	uses []use
	ends serving.Ends
	text atomic.Pointer[func() []byte]
}

func newInForce(params sampling.Params, uses []use, ends serving.Ends) *inForce {
	f := &inForce{uses: uses, ends: ends}
	f.set(params)
	return f
}

// set has other parameters be in force. They are described when a plugin asks, and once.
func (f *inForce) set(params sampling.Params) {
	params.Chain = arrange(params.Chain, f.uses)
	text := sync.OnceValue(func() []byte {
		stop := f.ends.Stops
		if stop == nil {
			stop = []string{}
		}
		text, err := params.Describe(map[string]any{"max_tokens": f.ends.MaxTokens, "stop": stop})
		if err != nil {
			panic(err) // checked numbers and texts
		}
		return text
	})
	f.text.Store(&text)
}

// describe is plugin.RequestInfo.Sampling.
func (f *inForce) describe() []byte { return (*f.text.Load())() }
