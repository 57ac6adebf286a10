// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/penstock/penstock/host/bench"
	"github.com/penstock/penstock/tools/section"
)

// report is all that was measured.
type report struct {
	Time    time.Time        `json:"time"`
	Machine bench.Machine    `json:"machine"`
	Setting string           `json:"setting"` // of all servers and tools, in words
	Kernels string           `json:"kernels"` // of Penstock, as it says itself
	Rows    []row            `json:"rows"`
	Tools   []toolRun        `json:"tools"`
	Runs    []bench.Measured `json:"runs"`
	Turns   []turn           `json:"turns,omitempty"` // of comparisons with an earlier commit, and of plugins
	Ready   []readyCost      `json:"ready,omitempty"`
}

func (r *report) read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (r *report) save(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// row is a line of the table.
type row struct {
	Work     string `json:"work"`
	Measured string `json:"measured"`
	Against  string `json:"against"`
	Ratio    string `json:"ratio"`
	Required string `json:"required"` // empty: nothing is asked
	Reached  string `json:"reached"`
}

func yesNo(reached bool) string {
	if reached {
		return "yes"
	}
	return "no"
}

// ratio is 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// atLeast adds a row for a rate that must be at least so many times the other.
func (l *lab) atLeast(work, against string, ours, theirs, least float64) {
	times := ratio(ours, theirs)
	l.report.Rows = append(l.report.Rows, row{work, fmt.Sprintf("%.1f", ours), fmt.Sprintf("%s: %.1f", against, theirs),
		fmt.Sprintf("%.2f ×", times), fmt.Sprintf("%.2f ×", least), yesNo(times >= least)})
}

// lower adds a row for a time, in milliseconds, that must be so many times lower than the other.
func (l *lab) lower(work, against string, ours, theirs, least float64) {
	l.inform(work, against, ours, theirs)
	r := &l.report.Rows[len(l.report.Rows)-1]
	r.Required, r.Reached = fmt.Sprintf("%.0f × lower", least), yesNo(ours > 0 && ratio(theirs, ours) >= least)
}

// inform adds a row without a requirement.
func (l *lab) inform(work, against string, ours, theirs float64) {
	l.report.Rows = append(l.report.Rows, row{Work: work, Measured: fmt.Sprintf("%.0f ms", ours),
		Against: fmt.Sprintf("%s: %.0f ms", against, theirs), Ratio: fmt.Sprintf("%.1f × lower", ratio(theirs, ours))})
}

// setting is a sentence that says what was compared.
func (l *lab) setting() string {
	kernels := ""
	if l.report.Kernels != "" {
		kernels = " Penstock's kernels: " + l.report.Kernels + "."
	}
	sizes := fmt.Sprintf("%d slots and %d tokens of context for short requests, %d and %d for the others.",
		l.many().Slots, l.many().Context, l.few().Slots, l.few().Context)
	if len(l.report.Turns) > 0 {
		sizes = fmt.Sprintf("%d slots and %d tokens of context.", l.one().Slots, l.one().Context)
	}
	return fmt.Sprintf("Model %s; %d threads each; %s", strings.TrimSuffix(filepath.Base(l.model), ".gguf"), l.threads, sizes) + kernels
}

// markdown writes the table with its date and machine, then the single runs.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %v. %s\n\n", r.Time.Format("2006-01-02 15:04 MST"), r.Machine, r.Setting)
	b.WriteString("| work | measured | against | ratio | target | met |\n|---|---|---|---|---|---|\n")
	for _, x := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", x.Work, x.Measured, x.Against, x.Ratio, x.Required, x.Reached)
	}
	b.WriteString("\nThe single runs; times in milliseconds:\n\n")
	b.WriteString("| scenario | round | server | class | requests | tokens/s | prompt tokens/s | TTFT p50 | ITL p50 | p95 | p99 | max |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range r.Runs {
		for _, s := range m.Classes {
			fmt.Fprintf(&b, "| %s | %d | %s | %s | %d | %.1f | %.1f | %.0f | %.1f | %.1f | %.1f | %.1f |\n", m.Scenario, m.Round, m.Target, s.Class,
				s.Requests, s.TokensPerSecond, s.PromptTokensPerSecond, s.TTFT.P50, s.ITL.P50, s.ITL.P95, s.ITL.P99, s.ITL.Max)
		}
	}
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "| %s | %d | %s | | | %.1f | | | | | | |\n", t.Figure, t.Round, t.Tool, t.Value)
	}
	return b.String()
}

// output names the files that a run writes besides its figures; an empty name means none. All but
// ready are of a whole run.
type output struct{ document, readme, chart, ready string }

func (o output) write(r report) error {
	if o.ready != "" && len(r.Ready) > 0 {
		if err := readySection.Replace(o.ready, "\n"+r.readyTable()+"\n"); err != nil {
			return err
		}
	}
	if o.document != "" {
		if err := ours.Replace(o.document, "\n"+r.markdown()+"\n"); err != nil {
			return err
		}
	}
	if o.readme != "" {
		if err := ours.Replace(o.readme, "\n"+r.sentence()+"\n"+r.beside()+"\n"); err != nil {
			return err
		}
	}
	if o.chart != "" {
		return os.WriteFile(o.chart, []byte(r.chart()), 0o644)
	}
	return nil
}

// ours is what a run writes into a document.
var ours = section.Of("make bench-peer", "")
