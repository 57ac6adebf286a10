// SPDX-License-Identifier: MIT

package telemetry

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
	dto "github.com/prometheus/client_model/go"
)

// The settled names: dashboards rely on them.
func TestMetrics_Names(t *testing.T) {
	m := NewMetrics("tiny")
	m.Watch(func() scheduler.Stats { return scheduler.Stats{Running: 2, Waiting: 3, CellsUsed: 1, Cells: 4} }, func() int { return 3 },
		func() (launch, wait, copied time.Duration) {
			return time.Second, 2 * time.Second, 500 * time.Millisecond
		})
	m.Tick(scheduler.TickRecord{Forward: 3 * time.Millisecond, Sample: time.Millisecond, Total: 5 * time.Millisecond, Prefill: 7, Decode: 2, Passes: 2, Preempted: 1, Stats: scheduler.Stats{Running: 3}})
	m.First(20 * time.Millisecond)
	m.Token(10 * time.Millisecond)
	m.Token(30 * time.Millisecond)
	m.Ended(scheduler.RequestRecord{Reason: answer.ReasonLength, Usage: scheduler.Usage{Prompt: 10, Cached: 4, Generated: 5},
		Timing: scheduler.Timing{Queued: time.Second, Prefill: 2 * time.Second, Decode: 10 * time.Second}, Total: 2 * time.Second})
	m.Picker(Picked{
		Load: func(context.Context) (scheduler.Load, error) {
			return scheduler.Load{Running: 2, Waiting: 3, Cells: 6400, CellsUsed: 3200, CellsCached: 1600}, nil
		},
		Adapters: func() int { return 0 },
	})
	before := time.Now().Unix()
	server := NewServer("1.2")
	server.Ended(operation.Record{Route: "/v1/completions", Status: 200, Key: "alice", Model: "tiny", End: time.Time{}.Add(2 * time.Second),
		Answers: []operation.AnswerRecord{{RequestRecord: scheduler.RequestRecord{Usage: scheduler.Usage{Prompt: 10, Generated: 5}}}}})
	server.Ended(operation.Record{Path: "/made/up", Status: 404})
	other := NewMetrics("other")
	w := httptest.NewRecorder()
	other.Picker(Picked{Load: func(context.Context) (scheduler.Load, error) { return scheduler.Load{}, scheduler.ErrClosed }})
	server.Handler(func() []*Metrics { return []*Metrics{m, other} }).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if start, err := strconv.ParseInt(w.Header().Get("Process-Start-Time-Unix"), 10, 64); err != nil || start < before || start > time.Now().Unix() {
		t.Errorf("start %v %v, want %v or later", start, err, before)
	}
	for _, line := range []string{
		`penstock_num_requests_running{model_name="tiny"} 2`,
		`penstock_num_requests_waiting{model_name="tiny"} 3`,
		`penstock_kv_cache_usage_ratio{model_name="tiny"} 0.25`,
		`penstock_threads{model_name="tiny"} 3`,
		`penstock_prompt_tokens_total{model_name="tiny"} 10`,
		`penstock_generation_tokens_total{model_name="tiny"} 5`,
		`penstock_prefix_cache_queries_total{model_name="tiny"} 10`,
		`penstock_prefix_cache_hits_total{model_name="tiny"} 4`,
		`penstock_num_preemptions_total{model_name="tiny"} 1`,
		`penstock_request_success_total{finished_reason="length",model_name="tiny"} 1`,
		`penstock_request_success_total{finished_reason="stop",model_name="tiny"} 0`,
		`penstock_time_to_first_token_seconds_sum{model_name="tiny"} 0.02`,
		`penstock_inter_token_latency_seconds_count{model_name="tiny"} 2`,
		`penstock_e2e_request_latency_seconds_sum{model_name="tiny"} 2`,
		`penstock_request_queue_time_seconds_sum{model_name="tiny"} 1`,
		`penstock_tick_seconds_sum{model_name="tiny",phase="forward"} 0.003`,
		`penstock_tick_seconds_sum{model_name="tiny",phase="other"} 0.001`,
		`penstock_pass_seconds_total{model_name="tiny",part="launch"} 1`,
		`penstock_pass_seconds_total{model_name="tiny",part="wait"} 2`,
		`penstock_pass_seconds_total{model_name="tiny",part="copy"} 0.5`,
		`penstock_batch_tokens_sum{kind="prefill",model_name="tiny"} 7`,
		`penstock_prompt_tokens_total{model_name="other"} 0`,
		`penstock_http_requests_total{key="alice",route="/v1/completions",status="200"} 1`,
		`penstock_http_requests_total{key="",route="none",status="404"} 1`,
		`penstock_http_request_seconds_sum{route="/v1/completions"} 2`,
		`penstock_client_tokens_total{key="alice",kind="generation",model_name="tiny"} 5`,
		`penstock_build_info{version="1.2"} 1`,
		`llamacpp:prompt_tokens_total{model_name="tiny"} 6`,
		`llamacpp:prompt_tokens_cached_total{model_name="tiny"} 4`,
		`llamacpp:prompt_seconds_total{model_name="tiny"} 2`,
		`llamacpp:tokens_predicted_total{model_name="tiny"} 5`,
		`llamacpp:tokens_predicted_seconds_total{model_name="tiny"} 10`,
		`llamacpp:n_decode_total{model_name="tiny"} 2`,
		`llamacpp:n_tokens_max{model_name="tiny"} 15`,
		`llamacpp:prompt_tokens_seconds{model_name="tiny"} 3`,
		`llamacpp:predicted_tokens_seconds{model_name="tiny"} 0.5`,
		`llamacpp:requests_processing{model_name="tiny"} 2`,
		`llamacpp:requests_deferred{model_name="tiny"} 3`,
		`llamacpp:n_busy_slots_per_decode{model_name="tiny"} 3`,
		`vllm:num_requests_running{model_name="tiny"} 2`,
		`vllm:num_requests_waiting{model_name="tiny"} 3`,
		`vllm:kv_cache_usage_perc{model_name="tiny"} 0.25`,
		`vllm:cache_config_info{block_size="64",model_name="tiny",num_gpu_blocks="100"} 1`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

// The endpoint picker reads the adapters from labels, and takes the series with the latest time.
func TestMetrics_Picker_Adapters(t *testing.T) {
	m := NewMetrics("tiny")
	m.Picker(Picked{
		Load: func(context.Context) (scheduler.Load, error) {
			return scheduler.Load{Adapters: []scheduler.AdapterLoad{{Key: "b", Running: 1}, {Key: "a,b", Running: 1, Waiting: 1}, {Key: "gone", Waiting: 1}}}, nil
		},
		Adapters: func() int { return 4 },
		Names: func(key string) []string {
			if key == "gone" {
				return nil
			}
			return strings.Split(key, ",")
		},
	})
	before := time.Now().Unix()
	families := must.Get(m.registry.Gather())(t)
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "vllm:lora_requests_info" })
	if i < 0 || len(families[i].GetMetric()) != 1 {
		t.Fatal("there is not one series")
	}
	labels := map[string]string{}
	for _, l := range families[i].GetMetric()[0].GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	want := map[string]string{"model_name": "tiny", "max_lora": "4", "running_lora_adapters": "a,b", "waiting_lora_adapters": "a,b"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Error(diff)
	}
	if at := families[i].GetMetric()[0].GetGauge().GetValue(); at < float64(before) || at > float64(time.Now().Unix()) {
		t.Errorf("the value is %v, no present time", at)
	}
}

func TestNewLogger_Formats(t *testing.T) {
	file := must.Get(os.CreateTemp(t.TempDir(), "log"))(t)
	defer file.Close()
	for _, tc := range []struct{ level, format, want string }{
		{"info", "json", `{"time"`}, {"info", "auto", `{"time"`}, {"info", "text", "time="}, {"warn", "text", ""},
	} {
		var b strings.Builder
		NewLogger(&b, Level(tc.level), tc.format).Info("x")
		if !strings.HasPrefix(b.String(), tc.want) || (tc.want == "") != (b.Len() == 0) {
			t.Errorf("%s %s: %q", tc.level, tc.format, b.String())
		}
	}
	var b strings.Builder
	NewLogger(&b, Level("info"), "json").Info("x", "took", 1500*time.Millisecond)
	if !strings.Contains(b.String(), `"took":1.5}`) {
		t.Errorf("a duration is written as %s", b.String())
	}
	if isTerminal(file) {
		t.Error("a file is taken for a terminal")
	}
}

func TestMetrics_Media(t *testing.T) {
	m := NewMetrics("seer")
	m.Media(func() encoder.Stats {
		return encoder.Stats{Encoded: 1, Embedded: 20, Shared: 3, Hits: 4, Cancelled: 5, Waiting: 6, KeptBytes: 7, Took: 8 * time.Second}
	})
	answer := httptest.NewRecorder()
	NewServer("1").Handler(func() []*Metrics { return []*Metrics{m} }).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text := must.Get(io.ReadAll(answer.Body))(t)
	for name, value := range map[string]string{"encoded_total": "1", "embeddings_total": "20", "shared_total": "3", "cache_hits_total": "4", "cancelled_total": "5",
		"waiting": "6", "cache_bytes": "7", "encode_seconds_total": "8"} {
		if line := "penstock_media_" + name + `{model_name="seer"} ` + value + "\n"; !strings.Contains(string(text), line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
}
