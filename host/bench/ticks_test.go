// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the metrics of all models gained during a run is shown, a tick; servers without such metrics
// are measured as others are.
func TestRound_Ticks(t *testing.T) {
	const metrics = `# HELP penstock_pass_seconds_total Time of forward passes.
penstock_pass_seconds_total{model_name="a",part="copy"} %[1]d
penstock_pass_seconds_total{model_name="a",part="launch"} %[2]d
penstock_pass_seconds_total{model_name="a",part="wait"} %[3]d
penstock_tick_seconds_bucket{model_name="a",phase="forward",le="1"} 7
penstock_tick_seconds_sum{model_name="a",phase="forward"} %[4]d
penstock_tick_seconds_count{model_name="a",phase="forward"} %[5]d
penstock_tick_seconds_sum{model_name="a",phase="sample"} %[1]d
penstock_tick_seconds_count{model_name="a",phase="sample"} %[5]d
penstock_tick_seconds_sum{model_name="a",phase="other"} %[2]d
penstock_tick_seconds_sum{model_name="b",phase="other"} 5
`
	asked, says := 0, metrics
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			fmt.Fprint(w, textStream)
			return
		}
		if r.Header.Get("Authorization") != "Bearer key" || says == "" {
			w.WriteHeader(http.StatusNotImplemented)
			return
		}
		fmt.Fprintf(w, says, 1+asked, 1+2*asked, 1+3*asked, 1+7*asked, 10+1000*asked)
		asked++
	}))
	defer server.Close()
	h := NewHTTP(server.URL)
	h.Key = "key"
	defer h.Close()
	scenario := Scenario{Name: "s", Load: Load{Classes: []Class{{Name: "c", Clients: 1, Requests: 1, PromptWords: 8, MaxTokens: 3}}}}
	of := func() Report {
		runs, err := Round(t.Context(), []Target{{Name: "x", Streamer: h}}, scenario, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return NewReport(Machine{}, []Scenario{scenario}, runs)
	}
	report := of()
	want := &Ticks{Count: 1000, Launch: 2, Wait: 3, Copy: 1, Sample: 1, Other: 3}
	if diff := cmp.Diff(want, report.Runs[0].Ticks, about); diff != "" {
		t.Error(diff)
	}
	var b strings.Builder
	if err := report.WriteTable(&b); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "s x 1 1000 2.000 3.000 1.000 1.000 3.000") {
		t.Errorf("%v\n%s", err, b.String())
	}
	says = ""
	if got := of().Runs[0].Ticks; got != nil {
		t.Errorf("%+v of a server that has no metrics", got)
	}
}
