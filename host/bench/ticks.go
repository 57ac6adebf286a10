// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
)

// Ticks is what the ticks of a Penstock server took during a run, by its metrics: the mean of each
// part, in milliseconds.
type Ticks struct {
	Count  float64 `json:"count"`
	Launch float64 `json:"launch_ms"` // of forward passes, with what the CPU computes
	Wait   float64 `json:"wait_ms"`   // for devices
	Copy   float64 `json:"copy_ms"`   // of logits from devices
	Sample float64 `json:"sample_ms"`
	Other  float64 `json:"other_ms"` // the scheduler's own time
}

// tickSums are the sums that the metrics have, in seconds, by the part of a tick; of all models.
type tickSums map[string]float64

// ticked is in place of a part: how many ticks there were.
const ticked = "ticks"

var tickMetric = regexp.MustCompile(`^penstock_(pass_seconds_total|tick_seconds_sum|tick_seconds_count)\{.*(?:part|phase)="(\w+)"\} (\S+)$`)

// tickSums asks the server for them; nil if it does not tell, or if there is no server.
func (h *HTTP) tickSums(ctx context.Context) tickSums {
	if h == nil {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL+"/metrics", http.NoBody)
	if err != nil {
		return nil
	}
	response, err := h.send(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close() //nolint:errcheck // only read
	var sums tickSums
	const most = 16 << 20 // bytes
	for lines := bufio.NewScanner(io.LimitReader(response.Body, most)); lines.Scan(); {
		found := tickMetric.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		if sums == nil {
			sums = tickSums{}
		}
		name, part := found[1], found[2]
		value, _ := strconv.ParseFloat(found[3], 64) // what is no number counts nothing
		switch {
		case name != "tick_seconds_count":
			sums[part] += value
		case part == "forward": // each tick has a time for each phase
			sums[ticked] += value
		}
	}
	return sums
}

// ticks are the means of the ticks between two looks at the sums; nil if there were none.
func (after tickSums) ticks(before tickSums) *Ticks {
	n := after[ticked] - before[ticked]
	if before == nil || n < 1 {
		return nil
	}
	mean := func(part string) float64 { return 1000 * (after[part] - before[part]) / n }
	t := &Ticks{Count: n, Launch: mean("launch"), Wait: mean("wait"), Copy: mean("copy"), Sample: mean("sample")}
	t.Other = mean("forward") + mean("other") - t.Launch - t.Wait - t.Copy
	return t
}
