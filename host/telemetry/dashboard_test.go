// SPDX-License-Identifier: MIT

package telemetry

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// known are the names of all metrics, as a query has them, with their labels.
func known(t *testing.T) map[string][]string {
	m := NewMetrics("tiny")
	m.Watch(func() scheduler.Stats { return scheduler.Stats{} }, func() int { return 2 }, func() (launch, wait, copied time.Duration) { return 0, 0, 0 })
	m.Tick(scheduler.TickRecord{})
	m.Embeddings("embedding")
	m.Media(func() encoder.Stats { return encoder.Stats{} })
	p := m.Plugins()
	p.PluginCalls("a", "penstock_sample")(time.Second)
	p.PluginFault("a", "trap")
	s := NewServer("1")
	s.PluginMemory(func() (int64, int64) { return 1, 2 })
	s.Ended(operation.Record{Model: "tiny"})
	families := must.Get(prometheus.Gatherers{s.registry, m.registry}.Gather())(t)
	names := map[string][]string{}
	for _, f := range families {
		labels := []string{"job"}
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		names[f.GetName()] = labels
		if f.GetMetric()[0].GetHistogram() != nil {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				names[f.GetName()+part] = append(labels, "le")
			}
		}
	}
	return names
}

var (
	metricName = regexp.MustCompile(`\b(?:penstock|process|go|llamacpp)[_:][a-z0-9_:]+`)
	labelName  = regexp.MustCompile(`([a-z_]+)\s*=~?\s*"|by \(([a-z_, ]+)\)`)
)

// Every metric and label that the dashboard asks for exists, and every panel has a query and a
// place.
func TestDashboard_AsksForWhatExists(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/observability/grafana.json"))(t)
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(text, &dashboard))
	names := known(t)
	used := map[string]bool{}
	for i, p := range dashboard.Panels {
		if p.ID != i+1 || p.GridPos.X+p.GridPos.W > 24 || (p.Type == "row") != (len(p.Targets) == 0) {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		for _, target := range p.Targets {
			found := metricName.FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s: no metric in %s", p.Title, target.Expr)
			}
			for _, name := range found {
				used[name] = true
				if names[name] == nil {
					t.Errorf("%s: there is no %s", p.Title, name)
				}
				for _, match := range labelName.FindAllStringSubmatch(target.Expr, -1) {
					for label := range strings.SplitSeq(match[1]+match[2], ",") {
						if !slices.Contains(names[name], strings.TrimSpace(label)) {
							t.Errorf("%s: %s has no label %s", p.Title, name, label)
						}
					}
				}
			}
		}
	}
	for name := range used {
		used[family(name)] = true
	}
	for name := range names {
		if unused := []string{"penstock_build_info", "penstock_http_request_seconds"}; strings.HasPrefix(name, "penstock_") && !used[family(name)] && !slices.Contains(unused, family(name)) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// family is the name of the histogram that a metric is a part of, or the metric's own.
func family(name string) string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		name = strings.TrimSuffix(name, part)
	}
	return name
}
