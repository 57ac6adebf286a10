// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// printed reads what `penstock embed --json` printed.
func printed(t *testing.T, r result) (out struct {
	Model, Pooling string
	Dimensions     int
	Tokens         int
	Data           []struct {
		Index     int
		Text      string
		Embedding []float64
	}
}) {
	t.Helper()
	if r.code != exitDone {
		t.Fatalf("%+v", r)
	}
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	return out
}

func TestEmbed_JSON(t *testing.T) {
	got := printed(t, penstock(t, "", "embed", "penstock-tiny", "a frog", "a toad", "--json"))
	if got.Model != "penstock-tiny" || got.Pooling != "last" || got.Dimensions != 160 || got.Tokens == 0 || len(got.Data) != 2 || got.Data[1].Text != "a toad" {
		t.Errorf("%+v", got)
	}
	for _, d := range got.Data {
		var squares float64
		for _, x := range d.Embedding {
			squares += x * x
		}
		if len(d.Embedding) != 160 || math.Abs(squares-1) > 1e-4 {
			t.Errorf("%q has %d numbers of length %g", d.Text, len(d.Embedding), math.Sqrt(squares))
		}
	}
}

func TestEmbed_Lines(t *testing.T) {
	want := penstock(t, "", "embed", "a frog", "a toad", "--pooling", "mean", "--normalize", "1")
	got := penstock(t, "a frog\n\na toad", "embed", "--pooling", "mean", "--embd-normalize", "1")
	if got.code != exitDone || got.out != want.out || strings.Count(got.out, "\n") != 2 {
		t.Errorf("%+v, want %+v", got, want)
	}
	var v []float64
	must.Do(t, json.Unmarshal([]byte(strings.SplitN(got.out, "\n", 2)[0]), &v))
	var sum float64
	for _, x := range v {
		sum += math.Abs(x)
	}
	if math.Abs(sum-1) > 1e-4 {
		t.Errorf("the numbers sum to %g, want 1", sum)
	}
	each := penstock(t, "", "embed", "a frog", "--pooling", "none")
	if !strings.HasPrefix(each.out, "[[") {
		t.Errorf("without pooling: %.50s", each.out)
	}
}

func TestEmbed_WrongUse(t *testing.T) {
	for _, args := range [][]string{{"embed"}, {"embed", "x", "--pooling", "most"}, {"embed", "x", "--pooling", "rank"}, {"embed", "x", "--normalize", "-2"}} {
		if got := penstock(t, "", args...); got.code != exitWrongUse || got.err == "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := penstock(t, "", "embed", "absent.gguf", "x"); got.code != exitFailed || !strings.Contains(got.err, "absent.gguf") {
		t.Errorf("%+v", got)
	}
}
