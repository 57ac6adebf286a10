// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/penstock/penstock/tools/lab/bench"
)

// toolRun is a figure measured by one of llama.cpp's tools or by go test.
type toolRun struct {
	Tool   string  `json:"tool"`
	Figure string  `json:"figure"`
	Round  int     `json:"round"`
	Value  float64 `json:"value"`
}

// note records a tool's figure.
func (l *lab) note(tool, figure string, round int, value float64) {
	fmt.Fprintf(l.log, "%s, round %d, %s: %.1f\n", figure, round+1, tool, value)
	l.report.Tools = append(l.report.Tools, toolRun{tool, figure, round + 1, value})
}

// toolMedian is the median of a tool's figure over the rounds.
func (l *lab) toolMedian(tool, figure string) float64 {
	var values []float64
	for _, r := range l.report.Tools {
		if r.Tool == tool && r.Figure == figure {
			values = append(values, r.Value)
		}
	}
	return bench.Median(values)
}

// output runs a program and returns what it prints on standard output.
func (l *lab) output(program string, args ...string) ([]byte, error) {
	var errors bytes.Buffer
	cmd := exec.CommandContext(l.ctx, program, args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		text := errors.String()
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, text[max(0, len(text)-2000):])
	}
	return out, nil
}

// generation is the rate that llama-bench measures for n tokens after an empty prompt, in tokens a
// second.
func (l *lab) generation(n int) (float64, error) {
	out, err := l.output(l.tool("llama-bench"), "-m", l.model, "-t", strconv.Itoa(l.threads), "-p", "0", "-n", strconv.Itoa(n), "-r", "2", "-o", "json")
	if err != nil {
		return 0, err
	}
	return parseGeneration(out)
}

func parseGeneration(out []byte) (float64, error) {
	var runs []struct {
		Speed float64 `json:"avg_ts"`
	}
	if err := json.Unmarshal(out, &runs); err != nil || len(runs) != 1 || runs[0].Speed <= 0 {
		return 0, fmt.Errorf("llama-bench printed something else than one result: %q (%w)", out, err)
	}
	return runs[0].Speed, nil
}

// batches is the rate that llama-batched-bench measures for some sequences at once, each with a
// prompt and n generated tokens: the generated tokens of all, divided by the total time.
func (l *lab) batches(prompt, n int, sequences []int) (map[int]float64, error) {
	var list []string
	most := 0
	for _, s := range sequences {
		list = append(list, strconv.Itoa(s))
		most = max(most, s)
	}
	out, err := l.output(l.tool("llama-batched-bench"), "-m", l.model, "-t", strconv.Itoa(l.threads), "-c", strconv.Itoa(most*(prompt+n)),
		"-npp", strconv.Itoa(prompt), "-ntg", strconv.Itoa(n), "-npl", strings.Join(list, ","), "--output-format", "jsonl")
	if err != nil {
		return nil, err
	}
	speeds, err := parseBatches(out)
	if err == nil && len(speeds) != len(sequences) {
		err = fmt.Errorf("llama-batched-bench printed %d results, want %d: %q", len(speeds), len(sequences), out)
	}
	return speeds, err
}

func parseBatches(out []byte) (map[int]float64, error) {
	speeds := map[int]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		var run struct {
			Sequences int     `json:"pl"`
			Tokens    int     `json:"tg"` // of each
			Seconds   float64 `json:"t"`
		}
		if err := json.Unmarshal(lines.Bytes(), &run); err != nil || run.Seconds <= 0 {
			return nil, fmt.Errorf("llama-batched-bench printed a line that is no result: %q (%w)", lines.Text(), err)
		}
		speeds[run.Sequences] = float64(run.Sequences*run.Tokens) / run.Seconds
	}
	return speeds, nil
}

// parseTick reads what `go test -bench Tick -benchmem` prints for a number of slots. Of several
// results it takes the fastest, since other work on the machine can only add time.
func parseTick(out []byte, slots int) (microseconds, allocations float64, err error) {
	benchmark := fmt.Sprintf("BenchmarkTick/slots=%d", slots)
	result := regexp.MustCompile(`(?m)^` + benchmark + `(?:-\d+)?\s+\d+\s+([\d.]+) ns/op.*\s(\d+) allocs/op`)
	for _, m := range result.FindAllSubmatch(out, -1) {
		ns, wrong := strconv.ParseFloat(string(m[1]), 64)
		allocs, alsoWrong := strconv.ParseFloat(string(m[2]), 64)
		if err := errors.Join(wrong, alsoWrong); err != nil {
			return 0, 0, fmt.Errorf("a result of %s: %w", benchmark, err)
		}
		if microseconds == 0 || ns/1000 < microseconds {
			microseconds = ns / 1000
		}
		allocations = max(allocations, allocs)
	}
	if microseconds == 0 {
		return 0, 0, fmt.Errorf("no result of %s in %q", benchmark, out)
	}
	return microseconds, allocations, nil
}
