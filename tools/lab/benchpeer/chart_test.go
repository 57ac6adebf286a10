// SPDX-License-Identifier: MIT

package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/lab/bench"
)

var update = flag.Bool("update", false, "write the golden files anew")

// measuredGaps is a report with two rounds of mixed work; the figures of each server are multiples
// of its scale.
func measuredGaps() report {
	r := report{Time: time.Unix(0, 0).UTC(), Machine: bench.Machine{CPU: "A & B", Cores: 2, OS: "linux"}}
	for target, scale := range map[string]float64{penstock: 1, llama128: 4, llama: 25} {
		for round := range 2 {
			longest := scale * float64(100+60*round)
			itl := bench.Latency{Count: 100, P50: scale * 10, P95: scale * 50, P99: scale * 90, Max: longest}
			r.Runs = append(r.Runs, bench.Measured{Scenario: "mixed", Target: target, Round: round + 1, Result: bench.Result{
				Classes: []bench.Summary{{Class: "stream", ITL: itl}, {Class: "long"}}, Total: bench.Summary{PromptTokensPerSecond: 1000 / scale}}})
		}
	}
	return r
}

func TestReport_Chart(t *testing.T) {
	got := measuredGaps().chart()
	golden := filepath.Join("testdata", "gaps.svg")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the chart has changed; look at it, and keep it with -update (-want +got):\n%s", diff)
	}
	for decoder := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if empty := (report{}).chart(); empty != "" {
		t.Errorf("nothing was measured, but drawn: %s", empty)
	}
}

// A report that is read again is written with the setting in which it was measured, whatever the
// flags are now.
func TestOutput_Write_OfAFileThatWasKept(t *testing.T) {
	folder := t.TempDir()
	kept, document := filepath.Join(folder, "kept.json"), filepath.Join(folder, "document.md")
	r := measuredGaps()
	r.Setting = "7 threads each."
	if err := r.save(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, []byte(ours.Begin+ours.End), 0o600); err != nil {
		t.Fatal(err)
	}
	var again report
	if err := again.read(kept); err != nil {
		t.Fatal(err)
	}
	if err := (output{document: document}).write(again); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(document); err != nil || !strings.Contains(string(text), "Measured on 1970-01-01 00:00 UTC, ") || !strings.Contains(string(text), r.Setting) {
		t.Errorf("%s %v", text, err)
	}
}

// What the README and the chart say was measured in the run whose table is in docs/performance.md.
func TestDocuments_SayTheSame(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, section, ok := strings.Cut(read("README.md"), ours.Begin)
	section, _, closed := strings.Cut(section, ours.End)
	if !ok || !closed {
		t.Fatal("the README has no section of bench-peer")
	}
	table, chart := read("docs/performance.md"), read("docs/images/gaps.svg")
	find := func(pattern string) []string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(table)
		if found == nil {
			t.Fatalf("docs/performance.md has no %s", pattern)
		}
		return found[1:]
	}
	work := regexp.QuoteMeta("| " + mixedWork + fmt.Sprintf(": p99 ITL of the %d | ", streams))
	fast := find(work + `(\d+ ms) \| llama-server: (\d+ ms)`)
	small := find(work + `\d+ ms \| llama-server -b 128 -ub 128: (\d+ ms)`)
	for _, gap := range append(fast, small...) {
		if !strings.Contains(section, gap) || !strings.Contains(chart, ">"+gap+"<") {
			t.Errorf("docs/performance.md has a p99 of %s; the README or the chart has another", gap)
		}
	}
	for _, server := range []string{"", ", llama-server", ", llama-server -b 128 -ub 128"} {
		rate := find(`\| the same: utilisation` + server + ` \| [\d.]+ \((\d+) prompt`)[0]
		if !strings.Contains(section, " "+rate) {
			t.Errorf("docs/performance.md has %s prompt tokens/s%s; the README has not", rate, server)
		}
	}
	for _, c := range contended {
		name := contentionName(1, c.streams)
		for _, rate := range find(`\| ` + name + `, tokens/s \| ([\d.]+) \| llama-server: ([\d.]+) `) {
			tokens, err := strconv.ParseFloat(rate, 64)
			if err != nil || !slices.Contains(strings.Fields(section), fmt.Sprintf("%.0f", tokens)) {
				t.Errorf("docs/performance.md has %s tokens/s of %s; the README has not (%v)", rate, name, err)
			}
		}
	}
	date := find(`(?m)^Measured on (\d{4}-\d\d-\d\d)`)[0]
	if !strings.Contains(section, date) || !strings.Contains(chart, date) {
		t.Errorf("the README or the chart is not of %s", date)
	}
}
