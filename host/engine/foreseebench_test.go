// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/tools/must"
)

// mute is a drafter without a guess: what is drafted is what grammars leave no choice of.
type mute struct{}

func (mute) Draft(asks []*draft.Ask) {
	for _, a := range asks {
		a.Draft = a.Draft[:0]
	}
}

// blind is a stage that foresees nothing.
type blind struct{ *Stage }

func (s blind) Traits() chain.Traits {
	t := s.Stage.Traits()
	t.Foresees = false
	return t
}

// unblinded is a backend that draws for blind stages, too.
type unblinded struct{ scheduler.Backend }

func (b unblinded) SampleRows(draws []scheduler.Draw) {
	for i := range draws {
		if s, ok := draws[i].Stage.(blind); ok {
			draws[i].Stage = s.Stage
		}
	}
	b.Backend.SampleRows(draws)
}

// BenchmarkForesee is how many times as many tokens a second there are with forced runs as
// without, by the median of b.N pairs of the same answers, with a schema that is mostly names and
// one that has short ones. PENSTOCK_BENCH_MODEL names a model of real size; with the built-in one,
// of half a millisecond a pass, there is nothing to be gained but much to be lost.
func BenchmarkForesee(b *testing.B) {
	const most = 200
	path := cmp.Or(os.Getenv("PENSTOCK_BENCH_MODEL"), builtIn)
	kinds := map[string]json.RawMessage{
		"names": json.RawMessage(strings.Replace(string(longNames), `"minItems":3`, `"minItems":1000`, 1)),
		"short": json.RawMessage(`{"type":"array","minItems":1000,"items":{"type":"object","properties":{"id":{"type":"integer"},"ok":{"type":"boolean"},"note":{"type":"string"}},"required":["id","ok"],"additionalProperties":false}}`),
	}
	var prompts [][]int32
	for i := range int32(8) {
		prompts = append(prompts, []int32{1, 100 + i})
	}
	for _, slots := range []int{1, 8} {
		e := must.Get(Open(b.Context(), Options{Path: path, Slots: slots, DraftRows: 32, ContextSize: slots * 1024}))(b)
		for name, schema := range kinds {
			b.Run(fmt.Sprintf("streams=%d/%s", slots, name), func(b *testing.B) {
				var ratios []float64
				drafted, accepted := 0, 0
				for pair := range b.N {
					var took [2]time.Duration
					for i := range 2 {
						with := (i + pair) % 2
						p := sampling.Default()
						p.Seed, p.JSONSchema = uint32(pair), schema
						e.grammars.forget() // each pair begins with nothing known
						t, n, right := answered(b, unblinded{e.Backend()}, mute{}, prompts[:slots], most, func() []chain.Stage {
							p.Seed++
							stages := must.Get(e.NewChain(p))(b)
							if with == 0 {
								stages[0] = blind{stages[0].(*Stage)}
							}
							return stages
						})
						took[with], drafted, accepted = t, drafted+n, accepted+right
					}
					ratios = append(ratios, took[0].Seconds()/took[1].Seconds())
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "times")
				b.ReportMetric(ratios[len(ratios)/4], "times-p25")
				b.ReportMetric(ratios[len(ratios)*3/4], "times-p75")
				b.ReportMetric(float64(drafted)/float64(b.N*slots), "drafted")
				b.ReportMetric(float64(accepted)/float64(b.N*slots), "accepted")
			})
		}
		must.Do(b, e.Close())
	}
}
