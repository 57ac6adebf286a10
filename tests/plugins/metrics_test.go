// SPDX-License-Identifier: MIT

package plugins

import (
	"fmt"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// busy has every export of a sampler and does nothing in any.
func busy() []byte {
	g := asm.New(`{"name":"busy"}`)
	g.On(abi.ExportOpen, g.Bind(abi.BufferCandidates, spliceAt, 2048), g.Bind(abi.BufferText, textAt+4096, 256), asm.I32(0))
	g.On(abi.ExportPrepare, asm.I32(0))
	g.On(abi.ExportSample, asm.I32(-1))
	g.On(abi.ExportAccept, asm.I32(0))
	g.On(abi.ExportStop, asm.I32(0))
	return g.On(abi.ExportClose).Wasm()
}

// Every call is timed, by plugin and export, without the prefix that exports have.
func TestPlugins_Metrics_TimeByPluginAndExport(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": busy()})
	if status, text, _ := hosts.Complete(t, h, `,"plugins":["busy"]`); status != 200 {
		t.Fatal(text)
	}
	for hook, want := range map[string]float64{"open": 1, "prepare": 5, "sample": 5, "accept": 5, "stop": 5} {
		labels := fmt.Sprintf(`hook="%s",model_name="[^"]+",plugin="busy"`, hook)
		if n := hosts.Metric(t, h, "penstock_plugin_call_seconds_count", labels); n != want {
			t.Errorf("%s: %v calls, want %v", hook, n, want)
		}
		if sum := hosts.Metric(t, h, "penstock_plugin_call_seconds_sum", labels); sum <= 0 || sum > 60 {
			t.Errorf("%s: %v seconds", hook, sum)
		}
		if n := hosts.Metric(t, h, "penstock_plugin_call_seconds_bucket", labels+`,le="\+Inf"`); n != want {
			t.Errorf("%s: %v calls in all buckets, want %v", hook, n, want)
		}
	}
	if n := hosts.Metric(t, h, "penstock_plugin_faults_total", `kind="[^"]+",model_name="[^"]+",plugin="busy"`); n != -1 {
		t.Errorf("%v faults", n)
	}
}

// failing are guests that fault at the first token, by name; the name is the kind of fault.
func failing() map[string][]byte {
	guest := func(name, export string, code ...[]byte) []byte {
		g := asm.New(`{"name":"` + name + `","view":"none"}`)
		if export == abi.ExportPrepare {
			g.On(abi.ExportSample, asm.I32(-1))
		}
		return g.On(export, code...).Wasm()
	}
	return map[string][]byte{
		"trap.wasm":   guest("trap", abi.ExportSample, asm.Unreachable),
		"fuel.wasm":   guest("fuel", abi.ExportPrepare, asm.Forever),
		"answer.wasm": guest("answer", abi.ExportSample, asm.I32(-7)),
	}
}

// Every fault is counted by plugin and kind.
func TestPlugins_Metrics_FaultsByKind(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, failing())
	for _, kind := range []string{"trap", "fuel", "answer"} {
		labels := fmt.Sprintf(`kind="%s",model_name="[^"]+",plugin="%s"`, kind, kind)
		for want := 1.0; want <= 2; want++ {
			if status, text, _ := hosts.Complete(t, h, `,"samplers":["plugin:`+kind+`"]`); status != 424 {
				t.Errorf("%s: %d %s", kind, status, text)
			}
			if n := hosts.Metric(t, h, "penstock_plugin_faults_total", labels); n != want {
				t.Errorf("%v faults of kind %s, want %v", n, kind, want)
			}
		}
	}
}
