// SPDX-License-Identifier: MIT

package plugin

import (
	"errors"

	"github.com/penstock/penstock/scheduler"
)

// asked is the export in which a plugin asked for what the scheduler refuses.
var asked = map[scheduler.Act]hook{
	scheduler.ActMask: hookPrepare, scheduler.ActForce: hookPrepare, scheduler.ActChoose: hookSample, scheduler.ActSplice: hookAccept,
}

// Refuse implements scheduler.Answerable: what cannot be done is the plugin's fault.
func (s *Stage) Refuse(act scheduler.Act, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cause := CauseAnswer
	switch {
	case errors.Is(why, scheduler.ErrNotAllowed):
		cause = CauseConflict
	case errors.Is(why, scheduler.ErrSpliceLimit):
		cause = CauseLimit
	}
	v := wrong(cause, "%v", why)
	if s.instance == nil { // closed meanwhile
		return v
	}
	return s.settle(s.instance.fault(asked[act], v))
}
