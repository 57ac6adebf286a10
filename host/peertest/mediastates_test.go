// SPDX-License-Identifier: MIT

package peertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// long is a prompt that is long enough for copies of it to be kept.
func (s *sensing) long() []any {
	return []any{strings.Repeat("Once upon a time. ", 8), 0, "beside ", 1, strings.Repeat("And so on. ", 8)}
}

// crowd fills the cells of all slots with other prompts.
func (s *sensing) crowd(server Server) {
	s.Helper()
	for i := range 2 * slots {
		s.complete(server, s.oursMarker, []any{strings.Repeat(fmt.Sprint(i, " others say this. "), 170)}, map[string]any{"n_predict": 1})
	}
}

// compareStates asks for what was forked, rewound, put into the archive and saved.
func (s *sensing) compareStates() {
	s.steer()
	s.same("before it is in the archive", s.ours, s.long(), nil)
	s.crowd(s.ours)
	if got := s.same("from the archive", s.ours, s.long(), nil); got.Timings.Cached < got.Evaluated-1 {
		s.Errorf("from the archive: %d of %d tokens were cached", got.Timings.Cached, got.Evaluated)
	}
	saved := s.same("saved", s.ours, s.long(), map[string]any{"id_slot": 1})
	s.slot(s.ours, "save")
	s.slot(s.ours, "erase")
	s.slot(s.ours, "restore")
	if got := s.same("restored", s.ours, s.long(), map[string]any{"id_slot": 1}); got.Timings.Cached < saved.Evaluated-1 {
		s.Errorf("restored: %d of %d tokens were cached", got.Timings.Cached, got.Evaluated)
	}
}

// slot saves the second slot's conversation, or does another thing to it.
func (s *sensing) slot(server Server, action string) {
	s.Helper()
	if a := server.Call(s, http.MethodPost, "/slots/1?action="+action, `{"filename":"conversation"}`); a.Status != http.StatusOK {
		s.Fatalf("%s: %d %s", action, a.Status, a.Body)
	}
}

// steer takes tokens of a paused answer back, forks it, and has both go on.
func (s *sensing) steer() {
	const tokens = 1000 // the pause comes long before the end
	parts := []any{0, "beside ", 1, "what?"}
	prompt, err := json.Marshal(s.prompt(parts, s.oursMarker))
	if err != nil {
		s.Fatal(err)
	}
	want := s.complete(s.ours, s.oursMarker, parts, map[string]any{"n_predict": tokens, "cache_prompt": false}).Content
	c := s.dial(s.ours)
	c.send(fmt.Sprintf(`{"type":"generate","id":"a","request":{"prompt":%s,"temperature":0,"max_tokens":%d}}`, prompt, tokens))
	text, told := "", 0
	for f := c.next(); f.Type != "paused"; f = c.next() {
		if f.Type != "token" {
			continue
		}
		if text += f.Text; told == 3 {
			c.send(`{"type":"pause","id":"a"}`)
		}
		told++
	}
	c.send(`{"type":"rewind","id":"a","tokens":2}`)
	for f := c.next(); ; f = c.next() {
		text += f.Text // of a token that was on its way
		if f.Type == "rewound" {
			text = strings.TrimSuffix(text, f.Removed)
			break
		}
	}
	c.send(`{"type":"fork","id":"a","as":"b"}`)
	c.send(`{"type":"resume","id":"a"}`)
	texts := c.texts("a", "b")
	if got := text + texts["a"]; got != want {
		s.Errorf("rewound: %q; want %q", got, want)
	}
	if texts["b"] != want {
		s.Errorf("forked: %q; want %q", texts["b"], want)
	}
}

// compareElsewhere asks a second host, which computes small batches and keeps no copies, after the first has saved a conversation.
func (s *sensing) compareElsewhere() {
	other := map[string]any{"scheduler.batch_size": 32, "scheduler.ubatch_size": 32, "scheduler.cache_ram": 0}
	for k, v := range s.files {
		other[k] = v
	}
	small := Penstock(s.T, s.files["model.path"].(string), other)
	s.slot(small, "restore")
	if got := s.same("restored elsewhere", small, s.long(), map[string]any{"id_slot": 1}); got.Timings.Cached < got.Evaluated-1 {
		s.Errorf("restored elsewhere: %d of %d tokens were cached", got.Timings.Cached, got.Evaluated)
	}
	for _, parts := range prompts {
		s.same("in small batches", small, parts, nil)
	}
	s.preempt(small)
	s.endOnPicture(small)
}

// preempt has an answer lose its slot and its cells while it is paused, and go on.
func (s *sensing) preempt(server Server) {
	const tokens = 400
	parts := []any{1, "beside ", 0, "what?"}
	prompt, err := json.Marshal(s.prompt(parts, s.oursMarker))
	if err != nil {
		s.Fatal(err)
	}
	want := s.complete(server, s.oursMarker, parts, map[string]any{"n_predict": tokens}).Content
	c := s.dial(server)
	c.send(fmt.Sprintf(`{"type":"generate","id":"a","request":{"prompt":%s,"temperature":0,"max_tokens":%d}}`, prompt, tokens))
	text := ""
	for f := c.next(); f.Type != "paused"; f = c.next() {
		if text == "" && f.Text != "" {
			c.send(`{"type":"pause","id":"a"}`)
		}
		text += f.Text
	}
	for slot := range slots { // the crowd takes the slot of a paused answer if it has to
		s.complete(server, s.oursMarker, []any{strings.Repeat("others say this. ", 200)}, map[string]any{"n_predict": 1, "id_slot": slot})
	}
	s.crowd(server)
	c.send(`{"type":"resume","id":"a"}`)
	if got := text + c.texts("a")["a"]; got != want {
		s.Errorf("preempted: %q; want %q", got, want)
	}
}

// endOnPicture asks for what has nothing after a picture or a sound but what the model expects there: that ends llama-server.
func (s *sensing) endOnPicture(server Server) {
	for n := range s.all {
		prompt := s.prompt([]any{n}, s.oursMarker)
		prompt["prompt_string"] = strings.TrimSuffix(prompt["prompt_string"].(string), mediaAfter)
		body, err := json.Marshal(map[string]any{"prompt": prompt, "temperature": 0, "n_predict": answered})
		if err != nil {
			s.Fatal(err)
		}
		switch a := server.Call(s, http.MethodPost, "/completion", string(body)); a.Status {
		case http.StatusOK: // the projector has a token after it
		case http.StatusBadRequest:
			if !strings.Contains(a.Body, "ends on a picture or a sound") {
				s.Errorf("%d %s", a.Status, a.Body)
			}
		default:
			s.Errorf("%d %s", a.Status, a.Body)
		}
	}
	s.same("after prompts that ended on pictures", server, prompts[1], nil)
}
