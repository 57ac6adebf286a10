// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"io"
	"testing"
)

// BenchmarkWorkers measures a token of one answer: on this machine alone, as a worker would
// compute it, and with workers. They are on this machine, too, so what is left out is the
// network's own time.
func BenchmarkWorkers(b *testing.B) {
	ca := newAuthority(b)
	worker, host := ca.flags(b, "worker"), ca.flags(b, "host")
	for _, m := range []struct{ name, path string }{{"tiny", "../../host/model/penstock-tiny.gguf"}, {"200MB", writeWide(b)}} {
		model := []string{"--model", m.path, "--ctx-size", "1024", "--parallel", "1", "--kernels", "ggml", "--no-repack", "--load-mode", "none"}
		for _, c := range []struct {
			name    string
			secured bool
			workers int
		}{{"here", false, 0}, {"one-worker-plain", false, 1}, {"one-worker", true, 1}, {"two-workers", true, 2}} {
			b.Run(m.name+"/"+c.name, func(b *testing.B) {
				args, listen := model, []string{"--listen", "127.0.0.1:0"}
				if c.secured {
					args, listen = append(host, args...), append(worker, listen...)
				}
				addresses := ""
				for i := range c.workers {
					if i > 0 {
						addresses += ","
					}
					addresses += startWorker(b, 0, listen...).address
				}
				if c.workers > 0 {
					args = append(args, "--rpc", addresses)
				}
				s := startServer(b.Context(), b, args...)
				greedyText(b.Context(), b, s.url)
				total := 0.0
				for b.Loop() {
					total += timePerToken(b, s.url)
				}
				b.ReportMetric(total/float64(b.N), "ms/token")
				s.stop(b)
			})
		}
	}
}

// timePerToken is how many milliseconds a token of an answer of 100 tokens takes.
func timePerToken(b *testing.B, url string) float64 {
	b.Helper()
	response := postCompletion(b.Context(), b, url, `{"prompt":"`+story+`","temperature":0,"n_predict":100,"ignore_eos":true}`)
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Timings struct {
			PerToken float64 `json:"predicted_per_token_ms"`
		}
	}
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || answer.Timings.PerToken == 0 {
		b.Fatalf("%v: %s", err, text)
	}
	return answer.Timings.PerToken
}
