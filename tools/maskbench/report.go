// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"
)

// particular is what differs between sentences of one kind: places, quotations and numbers.
var particular = regexp.MustCompile(`#[^ ]*: |"[^"]*"|'[^']*'|[0-9][0-9,.]*`)

// report writes the counts, the reasons of refusals and the times.
func report(out io.Writer, results []result, t *times) error {
	counts, whys := map[string]int{}, map[string]int{}
	valid, failed := 0, 0
	for i := range results {
		r := &results[i]
		counts[r.Result]++
		valid, failed = valid+r.Valid, failed+r.Failed
		if r.Result == refused {
			whys[particular.ReplaceAllString(r.Why, "…")]++
		}
	}
	total := max(1, len(results))
	for _, name := range []string{passed, forbidden, allowed, refused} {
		if _, err := fmt.Fprintf(out, "%-10s %6d  %5.1f %%\n", name, counts[name], 100*float64(counts[name])/float64(total)); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "of %d valid instances of schemas that were read %d are not possible (%.2f %%)\n", valid, failed, 100*float64(failed)/float64(max(1, valid)))
	byCount := func(a, b string) int { return cmp.Or(whys[b]-whys[a], cmp.Compare(a, b)) }
	for _, why := range slices.SortedFunc(maps.Keys(whys), byCount) {
		fmt.Fprintf(out, "%6d  %.160s\n", whys[why], why)
	}
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{{"schema read", t.read}, {"first mask", t.first}, {"mask", t.masks}} {
		if len(row.times) > 0 {
			fmt.Fprintf(out, "%-12s %s\n", row.name, summary(row.times))
		}
	}
	return nil
}

// summary is the mean and the quantiles of some times, in microseconds.
func summary(all []time.Duration) string {
	mean, at := moments(all)
	return fmt.Sprintf("n %d, mean %.1f µs, p50 %.1f, p90 %.1f, p99 %.1f, p99.9 %.1f, max %.1f", len(all), mean, at(.5), at(.9), at(.99), at(.999), at(1))
}

// moments sorts some times, and returns their mean and what their quantiles are, in microseconds.
func moments(all []time.Duration) (mean float64, quantile func(float64) float64) {
	slices.Sort(all)
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	at := func(q float64) float64 { return micros(all[min(len(all)-1, int(q*float64(len(all))))]) }
	return micros(sum) / float64(len(all)), at
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
