// SPDX-License-Identifier: MIT

package schedulertest

import "github.com/penstock/penstock/scheduler"

// Adapters are a set of that name: the model says other things with them.
type Adapters string

// Key implements scheduler.Adapters.
func (a Adapters) Key() string { return string(a) }

// with is what computes the token at a position of a request's answer.
func with(r scheduler.Request, position int) scheduler.Adapters {
	if position < r.AdaptersFrom {
		return nil
	}
	return r.Adapters
}
