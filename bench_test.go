// SPDX-License-Identifier: MIT

package penstock_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock"
	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/tools/must"
)

// model is the variable that names the model of the benchmark; without it, it is the built-in one.
const model = "PENSTOCK_BENCH_MODEL"

// BenchmarkModel_Generate_Sixteen has 16 goroutines get 64 tokens each, from the library and from a
// server in this process over HTTP. PENSTOCK_BENCH_MODEL names a model.
func BenchmarkModel_Generate_Sixteen(b *testing.B) {
	const clients, tokens = 16, 64
	settings := map[string]any{"model.path": os.Getenv(model), "scheduler.slots": "16", "server.listen": "127.0.0.1:0", "recordings.enabled": "false", "plugins.dir": ""}
	c := must.Get(config.Load(config.Sources{File: os.DevNull, Flags: settings}))(b)
	all := func(b *testing.B, one func() error) {
		for b.Loop() {
			var wait sync.WaitGroup
			for range clients {
				wait.Go(func() {
					if err := one(); err != nil {
						b.Error(err)
					}
				})
			}
			wait.Wait()
		}
		b.ReportMetric(float64(clients*tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
	}
	b.Run("library", func(b *testing.B) {
		m := must.Get(penstock.Open(b.Context(), "", penstock.Config(c)))(b)
		defer m.Close() //nolint:errcheck // the benchmark ends
		all(b, func() error {
			_, err := m.Generate(b.Context(), "Once upon a time", endless, penstock.MaxTokens(tokens), penstock.Seed(1))
			return err
		})
	})
	b.Run("server", func(b *testing.B) {
		url := serve(b, c)
		body := `{"prompt":"Once upon a time","max_tokens":64,"seed":1,"ignore_eos":true,"stream":true}`
		all(b, func() error {
			r, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(body))
			if err != nil {
				return err
			}
			defer r.Body.Close()
			lines := bufio.NewScanner(r.Body)
			for lines.Scan() {
				if bytes.HasPrefix(lines.Bytes(), []byte("data: [DONE]")) {
					break
				}
			}
			_, err = io.Copy(io.Discard, r.Body)
			return err
		})
	})
}

// serve runs a server and returns its address.
func serve(b *testing.B, c config.Config) (url string) {
	b.Helper()
	ready := make(chan string, 1)
	h := must.Get(host.Open(b.Context(), host.Options{Config: c, Log: slog.New(slog.DiscardHandler), Ready: func(url string) { ready <- url }}))(b)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	b.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return <-ready
}

// BenchmarkLive_Drain is what reading 64 answers of 200 tokens costs that are there already: token
// by token, and drained.
func BenchmarkLive_Drain(b *testing.B) {
	const answers, tokens = 64, 200
	var buffer [64]penstock.Token
	for name, read := range map[string]func(*penstock.Live) error{
		"one by one": func(l *penstock.Live) error {
			for _, err := range l.Tokens() {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"drained": func(l *penstock.Live) error {
			for {
				switch _, err := l.Drain(buffer[:]); {
				case errors.Is(err, io.EOF):
					return nil
				case err != nil:
					return err
				}
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			ended := make(chan penstock.Ended, answers)
			defer m.Listen(penstock.Listener{Ended: func(e penstock.Ended) { ended <- e }})()
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				var all [answers]*penstock.Live
				for i := range all {
					var err error
					if all[i], err = m.Live(b.Context(), penstock.Text("Once upon a time"), endless, penstock.MaxTokens(tokens), penstock.Temperature(0)); err != nil {
						b.Fatal(err)
					}
				}
				for range all {
					<-ended
				}
				b.StartTimer()
				for _, l := range all {
					must.Do(b, read(l))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(answers*tokens*b.N), "ns/token")
		})
	}
}

// BenchmarkLogits is what a Go function that changes logits costs a token, beside a plugin that
// looks at candidates, and neither.
func BenchmarkLogits(b *testing.B) {
	module := must.Get(os.ReadFile("host/plugin/examples/testdata/v1/min-p.wasm"))(b)
	for _, c := range []struct {
		name   string
		option penstock.Option
	}{
		{"neither", penstock.MaxTokens(256)},
		{"function", penstock.Logits(func(_ []int32, logits []float32) { logits[0] = 0 })},
		{"plugin", penstock.Plugins(penstock.Plugin{Module: module})},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				must.Get(m.Generate(b.Context(), "Once upon a time", endless, penstock.MaxTokens(256), penstock.Temperature(0), c.option))(b)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(256*b.N), "ns/token")
		})
	}
}
