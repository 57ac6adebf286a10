// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// largeSchema has 200 properties, among them deep ones and enums.
func largeSchema() json.RawMessage {
	var values []string
	for i := range 40 {
		values = append(values, fmt.Sprintf(`"value %d"`, i))
	}
	kinds := []string{`{"type":"string"}`, `{"enum":[` + strings.Join(values, ",") + `]}`, `{"type":"integer","minimum":-5,"maximum":1200}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"number"},"c":{"enum":["x","y"]}}}}}}`}
	var properties []string
	for i := range 200 {
		properties = append(properties, fmt.Sprintf(`"property %d":%s`, i, kinds[i%len(kinds)]))
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `}}`)
}

// gaps are the times between the tokens of a stream.
func gaps(s *scheduler.Stream) (all []time.Duration, err error) {
	last := time.Time{}
	for {
		e, err := s.Next(context.Background())
		switch {
		case err != nil:
			return all, err
		case e.Kind == scheduler.KindEnd:
			return all, e.End.Err
		case e.Kind == scheduler.KindToken:
			now := time.Now()
			if !last.IsZero() {
				all = append(all, now.Sub(last))
			}
			last = now
		}
	}
}

// BenchmarkEngine_GrammarBesidePlain is what seven plain answers see of an eighth: the time
// between two of their tokens, when that one is plain, too, and when it follows a large schema.
// PENSTOCK_BENCH_MODEL is the model; the built-in one's passes are too short to compare.
func BenchmarkEngine_GrammarBesidePlain(b *testing.B) {
	path := os.Getenv("PENSTOCK_BENCH_MODEL")
	if path == "" {
		path = builtIn
	}
	e, err := Open(b.Context(), Options{Path: path, ContextSize: 8 * 512})
	if err != nil {
		b.Fatal(err)
	}
	s, stop := scheduled(b, e, 8)
	defer func() {
		stop()
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	}()
	seen := map[string][]time.Duration{}
	for range b.N {
		for _, kind := range []string{"plain", "schema"} { // by turns: the machine may be busier now than then
			all, err := e.besides(s, kind == "schema")
			if err != nil {
				b.Fatal(err)
			}
			seen[kind] = append(seen[kind], all...)
		}
	}
	for kind, all := range seen {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), kind+"-median-µs")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), kind+"-p99-µs")
	}
}

// besides runs seven plain answers and one more, and returns the gaps of the seven.
func (e *Engine) besides(s *scheduler.Scheduler, schema bool) (all []time.Duration, err error) {
	var streams []*scheduler.Stream
	for i := range 8 {
		p := sampling.Default()
		p.Seed, p.IgnoreEOS = uint32(i), i < 7
		if schema && i == 7 {
			p.JSONSchema = largeSchema()
		}
		chain, err := e.NewChain(p)
		if err != nil {
			return nil, err
		}
		prompt := []scheduler.Token{1, scheduler.Token(100 + i)}
		stream, err := s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: 100}, Chain: chain, Reports: scheduler.Reports{Logprobs: -1}})
		if err != nil {
			return nil, err
		}
		streams = append(streams, stream)
	}
	results := make(chan error, len(streams))
	list := make([][]time.Duration, len(streams))
	for i, st := range streams {
		go func() {
			var err error
			list[i], err = gaps(st)
			results <- err
		}()
	}
	for range streams {
		err = errors.Join(err, <-results)
	}
	return slices.Concat(list[:7]...), err
}
