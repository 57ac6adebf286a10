// SPDX-License-Identifier: MIT

package stage

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler/answer"
)

// stopping is a guest with a text buffer whose answers are the numbers given, call by call; the
// last one repeats. The number of calls lies at atScratch, the last length behind it.
func stopping(answers ...int) *asm.Guest {
	g := hosttest.Plain()
	g.Globals = 1
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, atText, 256), i32(0))
	code := [][]byte{global(0), i32(1), add, setGlobal(0), i32(hosttest.AtScratch), global(0), store, i32(hosttest.AtScratch + 4), local(1), store}
	for i, a := range answers[:len(answers)-1] {
		code = append(code, global(0), i32(i+1), eq, when(i32(a), ret))
	}
	return g.On(abi.ExportStop, append(code, i32(answers[len(answers)-1]))...)
}

// Text that was taken back does not count since the last 0.
func TestRule_Rewind_ForgetsWhatWasTakenBack(t *testing.T) {
	r := use(t, stopping(0, 3, 3, 1), 1).Rule()
	for _, text := range []string{"abc", "de", "fgh"} {
		if _, err := r.Check(5, text); err != nil {
			t.Fatal(err)
		}
	}
	r.(answer.RewindRule).Rewind(1, 3)
	if got, err := r.Check(5, "i"); err != nil || got != (answer.Verdict{End: true, Show: 3}) {
		t.Errorf("got %+v, %v; want the 3 bytes of dei", got, err)
	}
}

func TestRule_Check_Answers(t *testing.T) {
	long := strings.Repeat("é", 200) // 400 bytes: two calls of 256 and 144
	for name, tc := range map[string]struct {
		answers []int
		texts   []string
		want    answer.Verdict // of the last
	}{
		"show":                    {[]int{0}, []string{"a"}, answer.Verdict{}},
		"no text":                 {[]int{0}, []string{""}, answer.Verdict{}},
		"end":                     {[]int{1}, []string{"abc"}, answer.Verdict{End: true, Show: 3}},
		"hide":                    {[]int{3, 2}, []string{"abc", "d"}, answer.Verdict{End: true, Show: 0}},
		"hold":                    {[]int{0, 3}, []string{"abc", "d"}, answer.Verdict{Hold: true}},
		"a part":                  {[]int{3, -6}, []string{"Hel", "lo#"}, answer.Verdict{End: true, Show: 5}},
		"a part since the last 0": {[]int{0, 3, -3}, []string{"abc", "de", "f"}, answer.Verdict{End: true, Show: 2}},
		"nothing of it":           {[]int{3, -1}, []string{"abc", "de"}, answer.Verdict{End: true, Show: 0}},
		"long text":               {[]int{0}, []string{long}, answer.Verdict{}},
		"end in long text":        {[]int{1}, []string{long}, answer.Verdict{End: true, Show: 256}},
		"long text, half held":    {[]int{0, 3, -3}, []string{long, "x"}, answer.Verdict{End: true, Show: 258}},
		"half released, hidden":   {[]int{0, 3, 2}, []string{long, "x"}, answer.Verdict{End: true, Show: 256}},
		"released in the end":     {[]int{0, 3, 0, 2}, []string{long, "x", "y"}, answer.Verdict{End: true, Show: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			r := use(t, stopping(tc.answers...), 1).Rule()
			var got answer.Verdict
			for _, text := range tc.texts {
				var err error
				if got, err = r.Check(5, text); err != nil {
					t.Fatal(err)
				}
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestRule_Check_SeesTheText(t *testing.T) {
	s := use(t, stopping(0), 1)
	if _, err := s.Rule().Check(5, "naïve"); err != nil {
		t.Fatal(err)
	}
	if got := string(s.instance.Memory()[atText : atText+6]); got != "naïve" || peek(s, hosttest.AtScratch+4) != 6 {
		t.Errorf("got %q, %d bytes", got, peek(s, hosttest.AtScratch+4))
	}
	if _, err := s.Rule().Check(5, strings.Repeat("a", 255)+"é"); err != nil {
		t.Fatal(err)
	}
	if calls, last := peek(s, hosttest.AtScratch), peek(s, hosttest.AtScratch+4); calls != 3 || last != 2 {
		t.Errorf("%d calls, the last of %d bytes", calls, last)
	}
}

func TestRule_Check_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		answer int
		text   string
		cause  error
		detail string
	}{
		"an unknown answer":     {4, "a", plugin.CauseAnswer, "4, it must"},
		"more than there is":    {-3, "a", plugin.CauseAnswer, "2 bytes of 1"},
		"half a character":      {-2, "é", plugin.CauseAnswer, "part of a character"},
		"the smallest number":   {-1 << 31, "a", plugin.CauseAnswer, "2147483647 bytes"},
		"more held than it may": {3, strings.Repeat("a", abi.LimitHeldBytes+1), plugin.CauseLimit, "held back"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := use(t, stopping(tc.answer), 1).Rule().Check(5, tc.text)
			hosttest.MustFault(t, err, abi.ExportStop, tc.cause, tc.detail)
		})
	}
}

func TestStage_Rule_OnlyWhereThereIsOne(t *testing.T) {
	if r := use(t, hosttest.Plain(), 1).Rule(); r != nil {
		t.Errorf("got %v", r)
	}
}
