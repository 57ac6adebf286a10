// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// attack is a request of few bytes, or of as many as one may have, that would take much more of
// the server if it were not refused.
type attack struct {
	name, path string
	body       func() []byte // made once, as they are large
	say        string        // what the refusal must name
	statuses   []int
}

var attacks = []attack{
	{"thousands of answers", "/v1/completions", sync.OnceValue(func() []byte {
		prompts, _ := json.Marshal(strings.Split(strings.Repeat("a", 128), "")) //nolint:errchkjson // they are texts
		return fmt.Appendf(nil, `{"model":%q,"prompt":%s,"n":128,"max_tokens":1,"grammar":%q}`, tiny, prompts, "root ::= "+strings.Repeat(`"abc" `, 2000))
	}), "n", []int{http.StatusBadRequest}},
	{"a body of zeros", "/v1/chat/completions", sync.OnceValue(func() []byte {
		return fmt.Appendf(nil, `{"model":%q,"messages":[%s0]}`, tiny, strings.Repeat("0,", 15<<19))
	}), "body_memory", []int{http.StatusRequestEntityTooLarge}},
	{"arguments that nest deep", "/v1/chat/completions", sync.OnceValue(func() []byte {
		return fmt.Appendf(nil, `{"model":%q,"max_tokens":1,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[`+
			`{"id":"a","type":"function","function":{"name":"f","arguments":"%s"}}]},{"role":"tool","tool_call_id":"a","content":"b"}]}`,
			tiny, strings.Repeat("[", 9<<20))
	}), "", []int{http.StatusOK, http.StatusBadRequest}}, // as the template does without calls or takes them
}

// bigBodies is how many clients attack with large bodies at a time. The rest of what body_memory
// holds is for those that do not.
var bigBodies = make(chan struct{}, 2)

// attacking sends what must be refused before it takes much.
func attacking(ctx context.Context, s *soak, rng *rand.Rand) error {
	a := pick(rng, attacks)
	bigBodies <- struct{}{}
	defer func() { <-bigBodies }()
	c := call{method: http.MethodPost, path: a.path, key: pick(rng, goodKeys), body: a.body()}
	got, ok, err := s.expect(ctx, a.name, c, a.statuses...)
	if ok && !strings.Contains(string(got.body), a.say) {
		return &wrong{c.String(), got.String(), "a refusal that names " + a.say}
	}
	return err
}

// notReading asks for more than connections hold and reads nothing of it for longer than the
// server waits. What the server does then is not looked at here: at the end nothing of it may be
// left.
func notReading(ctx context.Context, s *soak, rng *rand.Rand) error {
	c := post("/tokenize", pick(rng, goodKeys), map[string]any{"model": tiny, "content": strings.Repeat("frog ", 200<<10), "with_pieces": true})
	response, err := s.begin(ctx, s.slow, c)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	select {
	case <-time.After(writeTimeout + time.Second): // not reading by design
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err = io.Copy(io.Discard, response.Body)
	end := fmt.Sprint(response.StatusCode)
	if err != nil {
		end += ", cut"
	}
	s.tally.add("POST /tokenize, not read", end)
	return nil
}
