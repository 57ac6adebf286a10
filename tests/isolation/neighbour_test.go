// SPDX-License-Identifier: MIT

package isolation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// twoModels has two models of 30 million parameters each.
func twoModels(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	quant := must.Get(synth.QuantNamed("Q4_0"))(t)
	for seed, name := range []string{"one", "two"} {
		file := must.Get(os.Create(filepath.Join(dir, name+".gguf")))(t)
		buffered := bufio.NewWriter(file)
		shape := synth.Shape{Name: name, Dim: 512, Layers: 10, Heads: 8, KVHeads: 4, FFN: 1536, Context: 4096}
		must.Do(t, errors.Join(synth.Write(buffered, shape, hosts.BuiltIn, quant, uint64(seed)), buffered.Flush(), file.Close()))
	}
	return dir
}

// stream lets three answers of a model run until stop is called, which returns the longest of the
// times between tokens.
func stream(t *testing.T, h *host.Host, model string) (stop func() time.Duration) {
	return gapsOf(t, h, func(n int) string {
		return fmt.Sprintf(`{"model":%q,"prompt":"Once upon a time","max_tokens":400,"seed":%d,"ignore_eos":true,"stream":true}`, model, n)
	})
}

// longPrompts sends prompts of 2,000 tokens to a model until stop is called.
func longPrompts(t *testing.T, h *host.Host, model string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	rng := rand.New(rand.NewPCG(1, 2))
	group.Go(func() {
		for ctx.Err() == nil {
			tokens := make([]string, 2000)
			for i := range tokens {
				tokens[i] = fmt.Sprint(300 + rng.IntN(200))
			}
			body := fmt.Sprintf(`{"model":%q,"prompt":[%s],"max_tokens":1,"cache_prompt":false}`, model, strings.Join(tokens, ","))
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL()+"/v1/completions", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return
			}
			if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK {
				t.Errorf("status %d", answer.StatusCode)
				return
			}
		}
	})
	return func() { cancel(); group.Wait() }
}

// Two models on one machine do not hold each other up: what the streams of one notice of the
// other's streams and long prompts. TestTurns_TwoModels_ComputeInTurns has the same on virtual
// time.
func TestHost_TwoModels_HoldUpNobody(t *testing.T) {
	const lasting = 3 * time.Second // a measurement, not a wait for a state
	// The target is far below what is allowed, since the longest gap of hundreds may be twice as long.
	h := hosts.Open(t, map[string]any{
		"models.dir": twoModels(t), "model.ctx_size": "16384", "scheduler.slots": "4", "scheduler.itl_target": "25ms",
	})
	hosts.Run(t, h)
	for _, name := range []string{"one", "two"} {
		if status, text := hosts.Post(t, h.URL()+"/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"Once upon","max_tokens":8}`, name)); status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, status, text)
		}
	}
	for what, load := range map[string]func() (stop func()){
		"another model's streams":      func() func() { end := stream(t, h, "two"); return func() { end() } },
		"another model's long prompts": func() func() { return longPrompts(t, h, "two") },
	} {
		holdsUpNobody(t, what, func() func() time.Duration { return stream(t, h, "one") }, func() {
			stop := load()
			time.Sleep(lasting)
			stop()
		})
	}
}
