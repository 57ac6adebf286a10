// SPDX-License-Identifier: MIT

package completion

import (
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
)

// record begins a recording if the request asks for one, which ends when the request is released.
func (r *TextRequest) record() error {
	if r.Common == nil || !r.Common.Record {
		return nil
	}
	if r.Model.Record == nil {
		return &refusal.Error{Kind: refusal.KindForbidden, Code: "recordings_disabled", Field: "record",
			Message: "record is true, but this server records no requests; its operator can set recordings.enabled, and recordings.dir where there is no home folder"}
	}
	recording, release := r.Model.Record(r.Caller.ID), r.release
	r.recording, r.release = recording, func() {
		recording.Release()
		release()
	}
	return nil
}

// RecordingID names the recording of the request, for its client; empty: it has none.
func (r *TextRequest) RecordingID() string {
	if r.recording == nil {
		return ""
	}
	return r.recording.ID()
}

// note adds an event of a choice to the recording, if there is one.
func (r *TextRequest) note(choice int, e scheduler.Event) {
	if r != nil && r.recording != nil {
		r.recording.Event(choice, e)
	}
}
