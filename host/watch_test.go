// SPDX-License-Identifier: MIT

package host

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/serving"
)

// What a live frame tells of tokens and plugins is what the metrics tell.
func TestModels_Residents_MeasuresAreTheMetrics(t *testing.T) {
	guests := failing()
	guests["a.wasm"] = busy()
	h := openWithPlugins(t, nil, guests)
	if status, text, _ := complete(t, h, `,"plugins":["busy"]`); status != 200 {
		t.Fatal(text)
	}
	if status, text, _ := complete(t, h, `,"samplers":["plugin:trap"]`); status != 422 {
		t.Fatal(text)
	}
	all := h.models.Residents()
	if len(all) != 1 || all[0].Waiting != 0 || all[0].Name != all[0].Model.Name {
		t.Fatalf("%+v", all)
	}
	m := all[0].Model.Measures
	itl := m.InterTokenLatency()
	total := uint64(0)
	for _, n := range itl.Counts {
		total += n
	}
	labels := `model_name="[^"]+"`
	if want := metric(t, h, "penstock_inter_token_latency_seconds_count", labels); float64(total) != want || want < 4 {
		t.Errorf("%d gaps, the metric has %v", total, want)
	}
	if len(itl.Counts) != len(itl.Bounds)+1 || itl.Bounds[0] != time.Millisecond || itl.Bounds[1] != 2*time.Millisecond || itl.Sum <= 0 {
		t.Errorf("%+v", itl)
	}
	var plugins []serving.PluginMeasures
	await(t, func() bool { // its close comes after the end of its answer
		plugins = m.Plugins()
		return slices.ContainsFunc(plugins, func(p serving.PluginMeasures) bool { return p.Name == "busy" && p.Calls >= 22 })
	})
	names := []string{"answer", "busy", "fuel", "trap"}
	if len(plugins) != len(names) {
		t.Fatalf("%+v", plugins)
	}
	for i, p := range plugins {
		wantCalls := map[string]uint64{"busy": 22, "trap": 1}[p.Name] // open, 5 each of prepare, sample, accept and stop, close
		if p.Name != names[i] || p.State != "ready" || p.Calls != wantCalls || (p.Time > 0) != (wantCalls > 0) || (p.Faults == 1) != (p.Name == "trap") {
			t.Errorf("%+v", p)
		}
	}
}
