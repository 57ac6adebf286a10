// SPDX-License-Identifier: MIT

package telemetry

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// Picked is where the metrics for endpoint pickers come from.
type Picked struct {
	Load     func(context.Context) (scheduler.Load, error)
	Adapters func() int                // LoRA adapters that are loaded
	Names    func(key string) []string // of a set of adapters; none: it is not known any more
}

// pickerMetrics are those that the endpoint picker of the Gateway API Inference Extension reads,
// under vLLM's names, which it expects unless it is told others.
type pickerMetrics struct{ Picked }

// pickerPatience is how long metrics wait for a scheduler that nobody has asked before; the rest
// of them is told without it.
const pickerPatience = 2 * time.Second

var (
	pickerRunning = pickerDesc("num_requests_running", "Requests in a slot.")
	pickerWaiting = pickerDesc("num_requests_waiting", "Requests in the queue.")
	pickerUsage   = pickerDesc("kv_cache_usage_perc", "KV cells that requests hold, from 0 to 1. Cells of idle conversations are free to be taken and do not count.")
	pickerBlocks  = pickerDesc("cache_config_info", "1, with the tokens of a block of prefix digests, and how many such blocks the KV cache has.", "block_size", "num_gpu_blocks")
	pickerLora    = pickerDesc("lora_requests_info", "The present time, with the LoRA adapters that running and waiting requests have, and how many are loaded.",
		"max_lora", "running_lora_adapters", "waiting_lora_adapters")
)

func pickerDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("vllm:"+name, help, labels, nil)
}

// Picker adds the metrics for endpoint pickers. It is called once.
func (m *Metrics) Picker(p Picked) {
	prometheus.WrapRegistererWith(m.labels, m.registry).MustRegister(pickerMetrics{p})
}

// Describe implements prometheus.Collector.
func (pickerMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pickerRunning, pickerWaiting, pickerUsage, pickerBlocks, pickerLora} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m pickerMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), pickerPatience)
	defer stop()
	l, err := m.Load(ctx)
	if err != nil {
		return // the model is being unloaded
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(pickerRunning, float64(l.Running))
	gauge(pickerWaiting, float64(l.Waiting))
	gauge(pickerUsage, float64(l.CellsUsed-l.CellsCached)/float64(max(l.Cells, 1)))
	gauge(pickerBlocks, 1, strconv.Itoa(kvcache.BlockTokens), strconv.Itoa(l.Cells/kvcache.BlockTokens))
	running := m.names(l.Adapters, func(a scheduler.AdapterLoad) int { return a.Running })
	waiting := m.names(l.Adapters, func(a scheduler.AdapterLoad) int { return a.Waiting })
	gauge(pickerLora, float64(time.Now().Unix()), strconv.Itoa(m.Adapters()), running, waiting)
}

// names lists the adapters of the sets that some requests have.
func (m pickerMetrics) names(sets []scheduler.AdapterLoad, requests func(scheduler.AdapterLoad) int) string {
	var names []string
	for _, a := range sets {
		if requests(a) > 0 {
			names = append(names, m.Names(a.Key)...)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}
