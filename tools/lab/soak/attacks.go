// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/tck"
	"github.com/penstock/penstock/tools/lab/bench"
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
	c := bench.Call{Method: http.MethodPost, Path: a.path, Key: pick(rng, goodKeys), Body: a.body()}
	got, ok, err := s.expect(ctx, a.name, c, a.statuses...)
	if ok && !strings.Contains(string(got.Body), a.say) {
		return &wrong{c.String(), got.String(), "a refusal that names " + a.say}
	}
	return err
}

// notReading asks for more than connections hold and reads nothing of it for longer than the
// server waits. What the server does then is not looked at here: at the end nothing of it may be
// left.
func notReading(ctx context.Context, s *soak, rng *rand.Rand) error {
	c := post("/tokenize", pick(rng, goodKeys), map[string]any{"model": tiny, "content": strings.Repeat("frog ", 200<<10), "with_pieces": true})
	response, err := s.slow.Begin(ctx, c)
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

var (
	faulty  = sync.OnceValue(faultyCases)
	refused = sync.OnceValue(func() []tck.Case {
		return slices.DeleteFunc(tck.Cases(), func(c tck.Case) bool { return c.Want.Outcome != tck.Refused || len(c.Modules) != 1 })
	})
)

// hostilePlugin asks for an answer with a plugin that breaks a rule. The request must end with the
// fault, which names plugin, export and cause, or be refused, since the client has made this
// plugin fault too often.
func hostilePlugin(ctx context.Context, s *soak, rng *rand.Rand) error {
	c, key := pick(rng, faulty()), pick(rng, hostileKeys)
	name := c.Modules[0].Name
	if rng.IntN(10) == 0 {
		_, _, err := s.expect(ctx, "POST /v1/plugins/NAME/reset", post("/v1/plugins/"+name+"/reset", adminKey, nil), http.StatusOK)
		return err
	}
	use := map[string]any{"name": name}
	if c.Request.Config != "" {
		use["config"] = json.RawMessage(c.Request.Config)
	}
	d := dialects[0]
	if c.Request.Chat {
		d = dialects[3]
	}
	b := d.body(question{chat: c.Request.Chat, model: tiny, text: "Hello", most: tck.MaxTokens, fields: map[string]any{
		"plugins": []any{use}, "samplers": []string{"plugin:" + name}, "seed": tck.Seed, "ignore_eos": true, "lora": lora(0)}}, rng.IntN(2) == 0)
	request := post(d.path, key, b)
	a, err := s.send(ctx, request)
	if err != nil {
		return err
	}
	const kind = "a hostile plugin"
	text := string(a.Body)
	if end, full := busy(a); full {
		s.tally.add(kind, end)
		return nil
	}
	if a.Status == http.StatusTooManyRequests && strings.Contains(text, "plugin_quarantined") {
		s.tally.add(kind, "429 quarantined")
		return nil
	}
	if a.Status == http.StatusOK && strings.Contains(text, "plugins_busy") { // other plugins took the time, which is no fault of this one
		s.tally.add(kind, "other plugins took the time")
		return nil
	}
	inStream := a.Status == http.StatusOK && b["stream"] == true && strings.HasSuffix(text, "data: [DONE]\n\n") && strings.Count(text, "data: [DONE]") == 1
	lacks := func(word string) bool { return !strings.Contains(text, word) }
	names, cause := c.Want.Error[:2], c.Want.Error[2]
	slow := !lacks("too slow") // on a busy machine its time may end before it has broken the rule
	if a.Status != http.StatusFailedDependency && !inStream || lacks("plugin_fault") || slices.ContainsFunc(names, lacks) || lacks(cause) && !slow {
		return &wrong{request.String(), a.String(), fmt.Sprintf("a fault that names %q (%s)", c.Want.Error, c.Rule)}
	}
	s.tally.add(kind, "a fault")
	return nil
}

// module is an upload.
func module(wasm []byte, query string) bench.Call {
	return bench.Call{Method: http.MethodPost, Path: "/v1/plugins" + query, Key: adminKey, Kind: "application/wasm", Body: wasm}
}

// wrongModule uploads what must be refused, with words that say why.
func wrongModule(ctx context.Context, s *soak, rng *rand.Rand) error {
	c := pick(rng, refused())
	request := module(c.Modules[0].Wasm, "")
	a, ok, err := s.expect(ctx, "POST /v1/plugins, a wrong module", request, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
	if !ok {
		return err
	}
	if slices.ContainsFunc(c.Want.Error, func(word string) bool { return !strings.Contains(string(a.Body), word) }) {
		return &wrong{request.String() + " (" + c.Name + ")", a.String(), fmt.Sprintf("an error with %q", c.Want.Error)}
	}
	return nil
}

// guests is how many plugins come and go.
const guests = 3

func guestName(n int) string { return fmt.Sprintf("guest-%d", n) }

// guest is a plugin that chooses a token whatever the logits say.
func guest(name string, token int) []byte {
	return asm.New(`{"name":"`+name+`","view":"none"}`).On(abi.ExportSample, asm.I32(token)).Wasm()
}

// upload replaces a plugin by one that does something else, tries it, or removes it, while others
// do the same.
func upload(ctx context.Context, s *soak, rng *rand.Rand) error {
	name := guestName(rng.IntN(guests))
	switch rng.IntN(5) {
	case 0:
		_, _, err := s.expect(ctx, "DELETE /v1/plugins/NAME", bench.Call{Method: http.MethodDelete, Path: "/v1/plugins/" + name, Key: adminKey}, http.StatusNoContent, http.StatusNotFound)
		return err
	case 1:
		_, _, err := s.expect(ctx, "POST /v1/plugins, a dry run", module(guest(name, 300), "?dry_run=true"), http.StatusOK, http.StatusCreated)
		return err
	}
	token := 300 + rng.IntN(8)
	_, ok, err := s.expect(ctx, "POST /v1/plugins", module(guest(name, token), ""), http.StatusOK, http.StatusCreated)
	if !ok {
		return err
	}
	// Another client may have removed it since.
	b := map[string]any{"model": tiny, "prompt": "Hi", "max_tokens": 4, "plugins": []string{name}, "ignore_eos": true}
	_, _, err = s.expect(ctx, "POST /v1/completions, with an uploaded plugin", post("/v1/completions", pick(rng, goodKeys), b), http.StatusOK, http.StatusBadRequest)
	return err
}

// pluginFile puts a plugin into the folder, or something that is none, or removes it.
func pluginFile(_ context.Context, s *soak, rng *rand.Rand) error {
	path, err := s.place.dropped(), error(nil)
	end := "replaced"
	switch rng.IntN(3) {
	case 0:
		err = replaceFile(path, guest("dropped", 300+rng.IntN(8)))
	case 1:
		end, err = "broken", replaceFile(path, []byte("\x00asm\x01\x00\x00\x00no module"))
	case 2:
		if end, err = "removed", os.Remove(path); os.IsNotExist(err) {
			err = nil
		}
	}
	s.tally.add("a file in the plugin folder", end)
	return err
}

// keyFile writes the file of keys anew. Those that the clients have stay, so that all others see
// whether they hold at every moment.
func keyFile(_ context.Context, s *soak, rng *rand.Rand) error {
	s.tally.add("the file of keys", "replaced")
	return s.place.writeKeys(rng.IntN(100))
}

// adapters loads and unloads an adapter, asks for answers with it, and changes the scales for all.
func adapters(ctx context.Context, s *soak, rng *rand.Rand) error {
	switch rng.IntN(5) {
	case 0:
		_, _, err := s.expect(ctx, "POST /v1/adapters", post("/v1/adapters", adminKey, map[string]any{"name": passing}), http.StatusCreated, http.StatusConflict)
		return err
	case 1:
		_, _, err := s.expect(ctx, "DELETE /v1/adapters/NAME", bench.Call{Method: http.MethodDelete, Path: "/v1/adapters/" + passing, Key: adminKey}, http.StatusNoContent, http.StatusNotFound)
		return err
	case 2:
		_, _, err := s.expect(ctx, "POST /lora-adapters", post("/lora-adapters", adminKey, lora(float64(rng.IntN(2)))), http.StatusOK)
		return err
	}
	b := drawnBody(rng, 30)
	b["lora"] = []map[string]any{{"name": passing, "scale": 1}}
	_, _, err := s.expect(ctx, "POST /v1/completions, with a passing adapter", post("/v1/completions", pick(rng, goodKeys), b), http.StatusOK, http.StatusBadRequest)
	return err
}

// reloadModel loads the second model, or unloads it, which is refused while it is in use.
func reloadModel(ctx context.Context, s *soak, rng *rand.Rand) error {
	path, statuses := "/models/load", []int{http.StatusOK}
	if rng.IntN(2) == 0 {
		path, statuses = "/models/unload", []int{http.StatusOK, http.StatusConflict}
	}
	_, _, err := s.expect(ctx, "POST "+path, post(path, adminKey, map[string]any{"model": small}), statuses...)
	return err
}

// slotFile saves, restores or erases the conversation of a slot. There may be none, or none of
// this client's.
func slotFile(ctx context.Context, s *soak, rng *rand.Rand) error {
	slot, action := rng.IntN(8), pick(rng, []string{"save", "restore", "erase"})
	b := map[string]any{"filename": fmt.Sprintf("%d.bin", rng.IntN(3))}
	c := post(fmt.Sprintf("/slots/%d?action=%s", slot, action), pick(rng, goodKeys), b)
	_, _, err := s.expect(ctx, "POST /slots/ID?action="+action, c, http.StatusOK, http.StatusBadRequest, http.StatusNotFound)
	return err
}

// forOthers tries what would change answers or models for others, or have a model loaded by
// looking at it.
func forOthers(ctx context.Context, s *soak, rng *rand.Rand) error {
	key := pick(rng, goodKeys)
	switch rng.IntN(3) {
	case 0:
		_, _, err := s.expect(ctx, "POST /lora-adapters with a client's key", post("/lora-adapters", key, lora(1)), http.StatusUnauthorized)
		return err
	case 1:
		_, _, err := s.expect(ctx, "POST /api/generate, unloading", post("/api/generate", key, map[string]any{"model": small, "keep_alive": 0}), http.StatusForbidden)
		return err
	}
	path := pick(rng, []string{"/props", "/slots", "/lora-adapters", "/v1/adapters"})
	_, _, err := s.expect(ctx, "GET "+path+" of a model that may be loaded", get(path+"?model="+small, key), http.StatusOK, http.StatusBadRequest)
	return err
}
