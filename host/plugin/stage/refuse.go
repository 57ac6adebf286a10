// SPDX-License-Identifier: MIT

package stage

import (
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// exportOf is the export in which a plugin asks for an act.
var exportOf = map[chain.Act]guest.Export{
	chain.ActMask: guest.Prepare, chain.ActForce: guest.Prepare, chain.ActChoose: guest.Sample, chain.ActSplice: guest.Accept,
}

// Refuse is that of chain.Traits: asking for what cannot be done is a fault.
func (s *Stage) Refuse(act chain.Act, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := plugin.CauseAnswer
	switch {
	case errors.Is(why, chain.ErrNotAllowed):
		cause = plugin.CauseConflict
	case errors.Is(why, answer.ErrSpliceLimit):
		cause = plugin.CauseLimit
	}
	v := guest.Violationf(cause, "%v", why)
	if s.instance == nil { // closed meanwhile
		return v
	}
	return s.endOnFault(s.instance.Fail(exportOf[act], v))
}
