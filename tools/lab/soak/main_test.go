// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// paths are the flags for what `make build` and `make plugins` have built.
var paths = []string{"-penstock", "../../../bin/penstock", "-plugins", "../../../build/plugins", "-model", "../../../host/model/penstock-tiny.gguf"}

// A short run of what `make soak` runs for longer.
func TestRun_Short_NothingIsLostOrWrong(t *testing.T) {
	if !steadytest.Long() {
		t.Skip("make test-long has it; TestHost_Crowd of tests/isolation has clients of all kinds")
	}
	var out, problems bytes.Buffer
	if code := run(t.Context(), append(paths, "-for", "20s", "-clients", "24"), &out, &problems); code != exitDone {
		t.Fatalf("exit %d: %s\n%s", code, problems.String(), out.String())
	}
	t.Log(out.String())
}

// A server that dies is told from one that answers wrongly.
func TestSoak_ServerDies_IsSaid(t *testing.T) {
	o := must.Get(parse(append(paths, "-for", "1m", "-clients", "2", "-only", "small"), io.Discard))(t)
	p := must.Get(prepare(t.Context(), o, t.TempDir()))(t)
	defer p.stop()
	s := newSoak(o, p, io.Discard)
	defer s.close()
	must.Do(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	if _, err := s.load(t.Context(), o.lasting, 0); err == nil {
		t.Error("nothing is wrong without a server")
	}
	if err := p.crashed(); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("it says %v", err)
	}
}

// The same seed makes the same choices.
func TestDraw_SameSeed_SameRequests(t *testing.T) {
	requests := func() (all []string) {
		for step := range uint64(200) {
			rng := rand.New(rand.NewPCG(7, step))
			all = append(all, draw(actors, rng).name, post("/", "", drawnBody(rng, 50)).String())
		}
		return all
	}
	first := strings.Join(requests(), "\n")
	if again := strings.Join(requests(), "\n"); again != first {
		t.Errorf("first\n%s\nthen\n%s", first, again)
	}
}

func TestRun_WrongUse(t *testing.T) {
	for _, args := range [][]string{{"-for", "0s"}, {"-clients", "0"}, {"-only", "nobody"}, {"more"}, {"-x"}} {
		var problems bytes.Buffer
		if code := run(t.Context(), args, io.Discard, &problems); code != exitWrongUse || problems.Len() == 0 {
			t.Errorf("%v: exit %d, %q", args, code, problems.String())
		}
	}
}

func TestResources_Exceeds_NamesWhatIsMore(t *testing.T) {
	before, after := make(resources, len(gauges)), make(resources, len(gauges))
	if list := after.exceeds(before); len(list) != 0 {
		t.Errorf("%q", list)
	}
	after[3], after[6] = 1, 1 // goroutines, running answers
	if list := after.exceeds(before); len(list) != 2 || !strings.Contains(list[0], "goroutines") {
		t.Errorf("%q", list)
	}
}

func TestReport_Text_HasWhatCameOfRequests(t *testing.T) {
	none := make(resources, len(gauges))
	r := &report{soak: &soak{tally: newTally()}, before: none, peak: none, after: none, took: time.Minute}
	r.tally.add("GET /", "200")
	if text := r.text(); !strings.Contains(text, "| GET / | 200 | 1 |") {
		t.Error(text)
	}
}
