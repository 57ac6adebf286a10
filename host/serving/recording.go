// SPDX-License-Identifier: MIT

package serving

import (
	"context"

	"github.com/penstock/penstock/scheduler"
)

// Recorder records the requests of a model.
type Recorder interface {
	// Begin begins the recording of a caller's request.
	Begin(caller string) Recording
}

// Recording is the recording of one request: of what its plugins were asked and answered, and of
// its answers.
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

// RecordingReader is a client that asks for recordings.
type RecordingReader struct {
	Caller string // Caller.ID; the recordings of others do not exist for it
	Admin  bool   // all exist
}
