// SPDX-License-Identifier: MIT

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is all that was measured in one go.
type Report struct {
	Time    time.Time          `json:"time"`
	Machine Machine            `json:"machine"`
	Loads   map[string][]Class `json:"loads"` // by scenario
	Runs    []Measured         `json:"runs"`
	Ratios  []Ratio            `json:"ratios,omitempty"`
}

// Ratio compares a figure between two targets, by the medians over all rounds.
type Ratio struct {
	Scenario string  `json:"scenario"`
	Class    string  `json:"class"` // empty: all classes together
	Figure   string  `json:"figure"`
	A        string  `json:"a"` // the targets' names
	B        string  `json:"b"`
	OfA      float64 `json:"of_a"`
	OfB      float64 `json:"of_b"`
	Ratio    float64 `json:"ratio"` // A by B
}

// NewReport gathers runs, and compares the first target that occurs with each of the others.
func NewReport(machine Machine, scenarios []Scenario, runs []Measured) Report {
	r := Report{Time: time.Now().UTC().Truncate(time.Second), Machine: machine, Loads: map[string][]Class{}, Runs: runs}
	var targets []string
	for _, m := range runs {
		if !slices.Contains(targets, m.Target) {
			targets = append(targets, m.Target)
		}
	}
	for _, s := range scenarios {
		r.Loads[s.Name] = s.Load.Classes
		for i := 1; i < len(targets); i++ {
			r.Ratios = append(r.Ratios, compare(runs, s, targets[0], targets[i])...)
		}
	}
	return r
}

// figures lists the numbers by which targets are compared.
var figures = []struct {
	name  string
	value func(Summary) float64
}{
	{"tokens/s", func(s Summary) float64 { return s.TokensPerSecond }},
	{"prompt tokens/s", func(s Summary) float64 { return s.PromptTokensPerSecond }},
	{"TTFT p50 ms", func(s Summary) float64 { return s.TTFT.P50 }},
	{"ITL p50 ms", func(s Summary) float64 { return s.ITL.P50 }},
	{"ITL p99 ms", func(s Summary) float64 { return s.ITL.P99 }},
}

func compare(runs []Measured, s Scenario, a, b string) []Ratio {
	var ratios []Ratio
	for _, c := range s.Load.Classes {
		for _, f := range figures {
			figure := func(r Result) float64 { return f.value(r.Class(c.Name)) }
			r := Ratio{Scenario: s.Name, Class: c.Name, Figure: f.name, A: a, B: b,
				OfA: MedianOf(runs, s.Name, a, figure), OfB: MedianOf(runs, s.Name, b, figure)}
			if r.OfA == 0 || r.OfB == 0 {
				continue
			}
			r.Ratio = r.OfA / r.OfB
			ratios = append(ratios, r)
		}
	}
	return ratios
}

// WriteJSON writes the report for scripts.
func (r Report) WriteJSON(to io.Writer) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for people: medians over the rounds, then the ratios.
func (r Report) WriteTable(to io.Writer) error {
	fmt.Fprintln(to, r.Machine)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "scenario\ttarget\tclass\trequests\tfailed\ttokens/s\tprompt t/s\tTTFT p50\tp99\tITL p50\tp95\tp99\tmax\t")
	var seen []string
	for _, m := range r.Runs {
		if key := m.Scenario + "\x00" + m.Target; !slices.Contains(seen, key) {
			seen = append(seen, key)
			r.rows(table, m.Scenario, m.Target)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if err := r.writeErrors(to); err != nil {
		return err
	}
	if err := r.writeTicks(to); err != nil || len(r.Ratios) == 0 {
		return err
	}
	fmt.Fprintln(to)
	table = tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "scenario\tclass\tfigure\tof\tagainst\tratio")
	for _, x := range r.Ratios {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s %.1f\t%s %.1f\t%.2f\n", x.Scenario, x.Class, x.Figure, x.A, x.OfA, x.B, x.OfB, x.Ratio)
	}
	return table.Flush()
}

// rows are the medians of one scenario on one target, with times in milliseconds.
func (r Report) rows(table io.Writer, scenario, target string) {
	for _, c := range r.Loads[scenario] {
		of := func(value func(Summary) float64) float64 {
			return MedianOf(r.Runs, scenario, target, func(x Result) float64 { return value(x.Class(c.Name)) })
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", scenario, target, c.Name,
			of(func(s Summary) float64 { return float64(s.Requests) }), of(func(s Summary) float64 { return float64(s.Failed) }),
			of(func(s Summary) float64 { return s.TokensPerSecond }), of(func(s Summary) float64 { return s.PromptTokensPerSecond }),
			of(func(s Summary) float64 { return s.TTFT.P50 }), of(func(s Summary) float64 { return s.TTFT.P99 }),
			of(func(s Summary) float64 { return s.ITL.P50 }), of(func(s Summary) float64 { return s.ITL.P95 }),
			of(func(s Summary) float64 { return s.ITL.P99 }), of(func(s Summary) float64 { return s.ITL.Max }))
	}
}

// writeTicks is what the ticks of servers took that tell it.
func (r Report) writeTicks(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "\nms a tick\ttarget\tround\tticks\tlaunch\twait\tcopy\tsample\tother\t"
	for _, m := range r.Runs {
		if m.Ticks == nil {
			continue
		}
		if head != "" {
			fmt.Fprintln(table, head)
			head = ""
		}
		t := m.Ticks
		fmt.Fprintf(table, "%s\t%s\t%d\t%.0f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", m.Scenario, m.Target, m.Round, t.Count, t.Launch, t.Wait, t.Copy, t.Sample, t.Other)
	}
	return table.Flush()
}

// writeErrors says why requests failed: one error for each class of each run.
func (r Report) writeErrors(to io.Writer) error {
	for _, m := range r.Runs {
		for _, s := range m.Classes {
			if s.Failed == 0 {
				continue
			}
			_, err := fmt.Fprintf(to, "%s on %s, round %d: %d of %d requests of class %s failed, such as: %s\n",
				m.Scenario, m.Target, m.Round, s.Failed, s.Requests, s.Class, s.Error)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Machine says where something was measured.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"` // logical processors this process may use
	OS    string `json:"os"`
}

// ThisMachine is the one this process runs on.
func ThisMachine() Machine {
	return Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), OS: runtime.GOOS}
}

func (m Machine) String() string { return fmt.Sprintf("%s, %d cores, %s", m.CPU, m.Cores, m.OS) }

// LoadAverage is how many threads have run or waited for a processor in the last minute, on
// average; "unknown" where the system does not say.
func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

// cpuModel is what Linux calls the processor; elsewhere, or if it says nothing, the architecture.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
