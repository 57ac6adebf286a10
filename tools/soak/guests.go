// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/plugins/tck"
)

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
	text := string(a.body)
	if end, busy := a.busy(); busy {
		s.tally.add(kind, end)
		return nil
	}
	if a.status == http.StatusTooManyRequests && strings.Contains(text, "plugin_quarantined") {
		s.tally.add(kind, "429 quarantined")
		return nil
	}
	if a.status == http.StatusOK && strings.Contains(text, "plugins_busy") { // other plugins took the time, which is no fault of this one
		s.tally.add(kind, "other plugins took the time")
		return nil
	}
	inStream := a.status == http.StatusOK && b["stream"] == true && strings.HasSuffix(text, "data: [DONE]\n\n") && strings.Count(text, "data: [DONE]") == 1
	lacks := func(word string) bool { return !strings.Contains(text, word) }
	names, cause := c.Want.Error[:2], c.Want.Error[2]
	slow := !lacks("too slow") // on a busy machine its time may end before it has broken the rule
	if a.status != http.StatusFailedDependency && !inStream || lacks("plugin_fault") || slices.ContainsFunc(names, lacks) || lacks(cause) && !slow {
		return &wrong{request.String(), a.String(), fmt.Sprintf("a fault that names %q (%s)", c.Want.Error, c.Rule)}
	}
	s.tally.add(kind, "a fault")
	return nil
}

// module is an upload.
func module(wasm []byte, query string) call {
	return call{method: http.MethodPost, path: "/v1/plugins" + query, key: adminKey, kind: "application/wasm", body: wasm}
}

// wrongModule uploads what must be refused, with words that say why.
func wrongModule(ctx context.Context, s *soak, rng *rand.Rand) error {
	c := pick(rng, refused())
	request := module(c.Modules[0].Wasm, "")
	a, ok, err := s.expect(ctx, "POST /v1/plugins, a wrong module", request, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
	if !ok {
		return err
	}
	if slices.ContainsFunc(c.Want.Error, func(word string) bool { return !strings.Contains(string(a.body), word) }) {
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
		_, _, err := s.expect(ctx, "DELETE /v1/plugins/NAME", call{method: http.MethodDelete, path: "/v1/plugins/" + name, key: adminKey}, http.StatusNoContent, http.StatusNotFound)
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
