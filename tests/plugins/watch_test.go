// SPDX-License-Identifier: MIT

package plugins

import (
	"fmt"
	"slices"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// What a live frame tells of tokens and plugins is what the metrics tell.
func TestSocket_Live_MeasuresAreTheMetrics(t *testing.T) {
	guests := failing()
	guests["a.wasm"] = busy()
	h := hosts.OpenWithPlugins(t, nil, guests)
	if status, text, _ := hosts.Complete(t, h, `,"plugins":["busy"]`); status != 200 {
		t.Fatal(text)
	}
	if status, text, _ := hosts.Complete(t, h, `,"samplers":["plugin:trap"]`); status != 424 {
		t.Fatal(text)
	}
	all := hosts.Live(t, h)
	if len(all) != 1 || all[0].WaitingForLoad != 0 || all[0].State != "loaded" {
		t.Fatalf("%+v", all)
	}
	itl := all[0].ITL
	total := uint64(0)
	for _, n := range itl.Counts {
		total += n
	}
	if want := hosts.Metric(t, h, "penstock_inter_token_latency_seconds_count", fmt.Sprintf("model_name=%q", all[0].Name)); float64(total) != want || want < 4 {
		t.Errorf("%d gaps, the metric has %v", total, want)
	}
	if len(itl.Counts) != len(itl.UpTo)+1 || itl.UpTo[0] != 1 || itl.UpTo[1] != 2 || itl.SumMS <= 0 {
		t.Errorf("%+v", itl)
	}
	var plugins []hosts.LivePlugin
	hosts.Await(t, func() bool { // its close comes after the end of its answer
		plugins = hosts.Live(t, h)[0].Plugins
		return slices.ContainsFunc(plugins, func(p hosts.LivePlugin) bool { return p.Name == "busy" && p.Calls >= 22 })
	})
	names := []string{"answer", "busy", "fuel", "script", "trap"}
	if len(plugins) != len(names) {
		t.Fatalf("%+v", plugins)
	}
	for i, p := range plugins {
		wantCalls := map[string]uint64{"busy": 22, "trap": 1}[p.Name] // open, 5 each of prepare, sample, accept and stop, close
		if p.Name != names[i] || p.State != "ready" || p.Calls != wantCalls || (p.TimeMS > 0) != (wantCalls > 0) || (p.Faults == 1) != (p.Name == "trap") {
			t.Errorf("%+v", p)
		}
	}
}
