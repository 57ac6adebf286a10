// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"net/http"

	"github.com/penstock/penstock/scheduler"
)

// Recordings records requests that ask for it.
type Recordings interface {
	// Begin begins the recording of a caller's request.
	Begin(caller string) Recording
}

// Recording is the recording of one request: of what its plugins were asked and answered, and of its answers.
type Recording interface {
	ID() string
	// Rendering is a context with which Plugins.Render is recorded.
	Rendering(ctx context.Context) context.Context
	// Watch has the plugins of a choice's policy recorded, as long as they are at work.
	Watch(of RecordedChoice, p Policy) Policy
	// Event adds what the client is told of a choice.
	Event(choice int, e scheduler.Event)
	// Release ends the recording, once the plugins have ended, too.
	Release()
}

// RecordedChoice is a choice before its answer begins.
type RecordedChoice struct {
	Index  int
	Seed   uint32
	Prompt int // tokens
	Begun  int // tokens that the answer of a fork begins with
}

// record begins a recording if the request asks for one, which ends when the request is released.
func (r *Request) record() error {
	if r.Extras == nil || !r.Extras.Record {
		return nil
	}
	if r.Model.Recordings == nil {
		return &Error{Status: http.StatusForbidden, Code: "recordings_disabled", Type: TypeForbid, Param: "record",
			Message: "record is true, but this server records no requests; its operator can set recordings.enabled, and recordings.dir where there is no home folder"}
	}
	recording, release := r.Model.Recordings.Begin(r.Caller.ID), r.release
	r.recording, r.release = recording, func() {
		recording.Release()
		release()
	}
	return nil
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

// RecordingInfo describes a recording that is kept.
type RecordingInfo struct {
	ID      string   `json:"id"`
	Created int64    `json:"created"` // in seconds since 1970
	Model   string   `json:"model"`
	Plugins []string `json:"plugins"`       // those whose sessions it has
	Tokens  int      `json:"tokens"`        // of its answers
	Bytes   int64    `json:"bytes"`         // of the file
	Cut     string   `json:"cut,omitempty"` // why it ends before the answers did
}

// RecordingReader is who asks for recordings.
type RecordingReader struct {
	Caller string // Caller.ID; the recordings of others do not exist for it
	Admin  bool   // all exist
}
