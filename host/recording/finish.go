// SPDX-License-Identifier: MIT

package recording

import (
	"log/slog"
	"slices"

	"github.com/penstock/penstock/host/plugin/session"
)

// finish writes a recording, if an answer has begun, and forgets it.
func (r *request) finish() {
	s := r.recorder.store
	if r.worthKeeping() {
		s.writing.Lock()
		f, h := r.file()
		if err := s.write(r.id, h, f.Stream); err != nil {
			s.log.Error("a recording could not be kept", slog.String("recording", r.id), slog.Any("because", err))
		}
		s.writing.Unlock()
		s.prune()
	}
	s.running.Add(-r.bytes)
	s.mu.Lock()
	close(r.pending.done)
	delete(s.pending, r.id)
	s.mu.Unlock()
}

// worthKeeping tells that something was recorded. A request that was refused has nothing, and its
// client was told of no recording.
func (r *request) worthKeeping() bool {
	for _, c := range r.choices {
		if len(c.Tokens) > 0 || c.Reason != "" {
			return true
		}
	}
	for _, s := range r.sessions {
		if len(s.Calls) > 0 {
			return true
		}
	}
	return false
}

// file is the recording as it is written, and the head of its file.
func (r *request) file() (*session.File, head) {
	f := &session.File{Model: r.about, Vocabulary: r.vocabulary,
		Recording: &session.Recording{ID: r.id, Created: r.created.Unix(), Model: r.recorder.name, Choices: []session.Choice{}}}
	h := head{Owner: r.pending.owner, Created: r.created.Unix(), Model: r.recorder.name, Plugins: []string{}, Cut: r.cut}
	for _, s := range r.sessions {
		if r.cut != "" && s.Cut == "" {
			s.Cut = r.cut
		}
		f.Sessions = append(f.Sessions, *s)
		if !slices.Contains(h.Plugins, s.Plugin.Name) { // each answer has them
			h.Plugins = append(h.Plugins, s.Plugin.Name)
		}
	}
	for n, c := range r.choices {
		c.Text = c.text.String()
		if c.Tokens == nil {
			c.Tokens = []session.Chosen{}
		}
		var own []session.Session
		for i := range f.Sessions {
			if f.Sessions[i].Choice == n {
				own = append(own, f.Sessions[i])
			}
		}
		if c.Reason == "" {
			c.Reason = "cancelled" // its client did not wait for the end
		}
		attribute(c.Tokens, c.Prompt, own)
		h.Tokens += len(c.Tokens)
		f.Recording.Choices = append(f.Recording.Choices, c.Choice)
	}
	return f, h
}
