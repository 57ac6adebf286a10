// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// asked is the export in which a plugin asked for what the scheduler refuses.
var asked = map[chain.Act]hook{
	chain.ActMask: hookPrepare, chain.ActForce: hookPrepare, chain.ActChoose: hookSample, chain.ActSplice: hookAccept,
}

// Refuse implements chain.Answerable: what cannot be done is the plugin's fault.
func (s *Stage) Refuse(act chain.Act, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := CauseAnswer
	switch {
	case errors.Is(why, chain.ErrNotAllowed):
		cause = CauseConflict
	case errors.Is(why, answer.ErrSpliceLimit):
		cause = CauseLimit
	}
	v := wrong(cause, "%v", why)
	if s.instance == nil { // closed meanwhile
		return v
	}
	return s.settle(s.instance.fault(asked[act], v))
}
