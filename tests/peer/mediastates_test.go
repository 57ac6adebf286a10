// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// long is a prompt that is long enough for copies of it to be kept.
func (s *sensing) long() []any {
	return []any{strings.Repeat("Once upon a time. ", 8), 0, "beside ", 1, strings.Repeat("And so on. ", 8)}
}

// crowd fills the cells of all slots with other prompts, each time with others if the word is
// another of four letters.
func (s *sensing) crowd(server Server, word string) {
	s.Helper()
	for slot := range slots {
		others := strings.Repeat(fmt.Sprint(slot, " others say ", word, ". "), (s.context()/slots-100)/19)
		s.complete(server, s.oursMarker, []any{others}, map[string]any{"n_predict": 1, "id_slot": slot, "cache_prompt": false})
	}
}

// compareStates asks for what was forked, rewound, put into the archive and saved.
func (s *sensing) compareStates() {
	s.steer()
	s.same("before it is in the archive", s.ours, s.long(), nil)
	s.crowd(s.ours, "this")
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

// begin has an answer begin over a WebSocket, and pauses it. It returns its tokens so far.
func (s *sensing) begin(server Server, parts []any) (c *client, text string, tokens int) {
	s.Helper()
	prompt, err := json.Marshal(s.prompt(parts, s.oursMarker))
	if err != nil {
		s.Fatal(err)
	}
	for range 100 { // on a very busy machine the answer may end before it is paused
		c, text, tokens = s.dial(server), "", 0
		c.send(fmt.Sprintf(`{"type":"generate","id":"a","request":{"prompt":%s,"temperature":0,"n_predict":-1}}`, prompt))
		f := c.next()
		for ; f.Type != "paused" && f.Type != "end" && f.Type != "error"; f = c.read() {
			if f.Type != "token" {
				continue
			}
			text += f.Text
			if tokens++; tokens == 4 {
				c.send(`{"type":"pause","id":"a"}`)
			}
		}
		if f.Type == "paused" && tokens < 300 { // there is room for as many more in the context
			return c, text, tokens
		}
		_ = c.conn.CloseNow() // which ends it
	}
	s.Fatal("no answer is paused before its end")
	return nil, "", 0
}

// goOn is the text of a paused answer when some more tokens have come.
func (s *sensing) goOn(c *client, id, text string, more int) string {
	s.Helper()
	for tokens := 0; tokens < more; {
		switch f := c.next(); {
		case f.ID != id || f.Type == "resumed":
		case f.Type == "rewound":
			text = strings.TrimSuffix(text, f.Removed)
		case f.Type == "token":
			text += f.Text
			tokens++
		case f.Type == "end":
			s.Fatalf("the answer ended after %q", text)
		}
	}
	return text
}

// beyond is how many tokens of an answer are looked at after it was changed.
const beyond = 30

// steer takes tokens of a paused answer back, and forks it.
func (s *sensing) steer() {
	parts := []any{0, "beside ", 1, "what?"}
	for how, frame := range map[string]string{"rewound": `{"type":"rewind","id":"a","tokens":3}`, "forked": `{"type":"fork","id":"a","as":"b"}`} {
		c, text, tokens := s.begin(s.ours, parts)
		c.send(frame)
		id := "a"
		if how == "forked" {
			id, text = "b", "" // which tells its tokens from the first on
		} else {
			c.send(`{"type":"resume","id":"a"}`)
		}
		got := s.goOn(c, id, text, tokens+beyond)
		s.begins(how, s.ours, parts, got)
		_ = c.conn.CloseNow() // which ends the answers
	}
}

// begins compares the beginning of an answer with one that was left alone.
func (s *sensing) begins(how string, server Server, parts []any, got string) {
	s.Helper()
	want := s.complete(server, s.oursMarker, parts, map[string]any{"n_predict": len(got), "cache_prompt": false, "n_probs": 10})
	peers := s.wanted(parts)
	same := strings.HasPrefix(want.Content, got) || want.Tokens.tied(got)
	asPeer := strings.HasPrefix(want.Content, peers.Content) || peers.Tokens.tied(want.Content)
	if !same || !asPeer || len(got) < beyond {
		s.Errorf("%s: %q; want %q", how, got, want.Content)
	}
}

// compareElsewhere asks a second host, which computes small batches and keeps no copies, after the
// first has saved a conversation.
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
	for _, parts := range s.prompts() {
		s.same("in small batches", small, parts, nil)
	}
	s.preempt(small)
	s.endOnPicture(small)
}

// preempt has an answer lose its slot and its cells while it is paused, and go on: its prompt is
// computed again. How long the answer is when it is paused is chance, and with it whether the
// others take all of its cells: then it is tried again.
func (s *sensing) preempt(server Server) {
	parts := []any{1, "beside ", 0, "what?"}
	prompt := s.complete(server, s.oursMarker, parts, map[string]any{"n_predict": 1}).Evaluated
	const shared = 16 // tokens that the others begin with, too
	again := 0
	for range 20 {
		c, text, _ := s.begin(server, parts)
		s.crowd(server, "this")
		if !s.pair.Hears() { // else the sounds alone take more room than is left
			s.crowd(server, "that")
		}
		before := s.prefilled(server)
		c.send(`{"type":"resume","id":"a"}`)
		got := s.goOn(c, "a", text, beyond)
		_ = c.conn.CloseNow() // which ends it
		if again = s.prefilled(server) - before; again >= prompt-shared {
			s.begins("preempted", server, parts, got)
			return
		}
	}
	s.Errorf("preempted: %d tokens were computed again of a prompt of %d, so it did not lose its cells", again, prompt)
}

// prefilled is how many tokens of prompts a host has computed, those of answers that have lost
// their cells included.
func (s *sensing) prefilled(server Server) int {
	s.Helper()
	a := server.Call(s, http.MethodGet, "/metrics", "")
	found := regexp.MustCompile(`(?m)^penstock_batch_tokens_sum\{kind="prefill"[^}]*\} (\S+)$`).FindStringSubmatch(a.Body)
	if found == nil {
		s.Fatalf("%d: no sum of prompts' tokens in %.200s", a.Status, a.Body)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.Fatal(err)
	}
	return int(n)
}

// endOnPicture asks for what has nothing after a picture or a sound but what the model expects
// there: that ends llama-server.
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
