// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/chain"
)

// counting counts the chains that it builds.
type counting struct {
	toy
	chains, preserved *atomic.Int64
}

func (c counting) NewChain(p sampling.Params) ([]chain.Stage, error) {
	c.chains.Add(1)
	return c.toy.NewChain(p)
}

func (c counting) PreservedTokens(ctx context.Context, p sampling.Params) ([]int32, error) {
	c.preserved.Add(1)
	return c.toy.PreservedTokens(ctx, p)
}

// A small request can ask for thousands of answers: none of their chains is built unless there is
// room for all.
func TestAPI_Room_IsAskedForFirst(t *testing.T) {
	engine := counting{chains: new(atomic.Int64), preserved: new(atomic.Int64)}
	r := newRig(t, func(s *setup) { s.Engine = engine })
	prompts := `["a"` + strings.Repeat(`,"a"`, 127) + `]`
	status, _, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":`+prompts+`,"n":128,"max_tokens":1}`)
	if status != 400 || !strings.Contains(body, `"param":"n"`) || !strings.Contains(body, "room for 20 in all") || engine.chains.Load() != 0 {
		t.Errorf("%d chains built, answered %d %s", engine.chains.Load(), status, body)
	}
	if status, _, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":["a","b"],"n":6,"max_tokens":1,"preserved_tokens":["a"]}`); status != 200 || engine.chains.Load() != 12 {
		t.Errorf("as many as one client may have: %d chains built, answered %d %s", engine.chains.Load(), status, body)
	}
	if engine.preserved.Load() != 1 {
		t.Errorf("%d times the preserved tokens of one request", engine.preserved.Load())
	}
}
