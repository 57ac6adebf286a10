// SPDX-License-Identifier: MIT

package completion

import (
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// beginRecording begins a recording if the request asks for one, and has release end it.
func beginRecording(b Basics, m *serving.Model, release func()) (serving.Recording, func(), error) {
	if b.Extras == nil || !b.Extras.Record {
		return nil, release, nil
	}
	if m.Record == nil {
		return nil, release, &refusal.Error{Kind: refusal.KindForbidden, Code: "recordings_disabled", Field: "record",
			Message: "record is true, but this server records no requests; its operator can set recordings.enabled, and recordings.dir where there is no home folder"}
	}
	recording := m.Record(b.Caller.ID)
	return recording, func() {
		recording.Release()
		release()
	}, nil
}

// RecordingID names the recording of the request, for its client; empty: it has none.
func (r *Request) RecordingID() string {
	if r.recording == nil {
		return ""
	}
	return r.recording.ID()
}

// note adds an event of a choice to the recording, if there is one.
func (r *Request) note(choice int, e scheduler.Event) {
	if r != nil && r.recording != nil {
		r.recording.Event(choice, e)
	}
}
