// SPDX-License-Identifier: MIT

package stage

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/steadytest"
)

// filtering is a guest with a text buffer of 256 bytes and such a filter.
func filtering(code ...[]byte) *asm.Guest {
	g := hosttest.Plain()
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, atText, 256), i32(0))
	return g.On(abi.ExportFilter, code...)
}

// emits hands so many bytes at AtScratch to emit.
func emits(bytes int) []byte {
	return slices.Concat(i32(hosttest.AtScratch), i32(bytes), hosttest.Plain().Call(abi.ImportEmit))
}

func TestFilter_Filter_Faults(t *testing.T) {
	for name, tc := range map[string]struct {
		code   []byte
		text   string
		last   bool
		cause  error
		detail string
	}{
		"less than nothing":     {i32(-1), "a", false, plugin.CauseAnswer, "-1, it must be from 0 to 1"},
		"more than there is":    {i32(2), "a", false, plugin.CauseAnswer, "2, it must be from 0 to 1"},
		"a part of a character": {i32(1), "é", false, plugin.CauseAnswer, "inside a character"},
		"at the end":            {i32(1), "ab", true, plugin.CauseAnswer, "of the last text"},
		"no room":               {local(0), strings.Repeat("a", 257), false, plugin.CauseLimit, "no room"},
		"a trap":                {unreachable, "a", false, plugin.CauseTrap, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := use(t, filtering(tc.code), 1).Filter().Filter(tc.text, tc.last)
			hosttest.MustFault(t, err, abi.ExportFilter, tc.cause, tc.detail)
		})
	}
}

// What a filter writes is bounded by what it was given.
func TestFilter_Filter_WritesTooMuch(t *testing.T) {
	f := use(t, filtering(emits(30_000), i32(0)), 1).Filter()
	for n := 1; ; n++ {
		if _, err := f.Filter("a", false); err != nil {
			hosttest.MustFault(t, err, abi.ExportFilter, plugin.CauseLimit, "90000 bytes of text written for 3")
			return
		}
		if n == 3 {
			t.Fatal("there is no limit")
		}
	}
}

// A request that goes on without its filter loses none of the text, whether the plugin failed with
// it or had kept it back.
func TestFilter_Filter_SkippedShowsAll(t *testing.T) {
	g := filtering(i32(atText), asm.LoadByte, i32('x'), eq, when(unreachable), local(0))
	p := hosttest.Load(t, hosttest.Open(t, load.New), g)
	f := useOf(t, p, plugin.RequestInfo{Skip: true}, 1).Filter()
	var got string
	for _, text := range []string{"a", "b", strings.Repeat("c", 300), "d"} {
		shown, err := f.Filter(text, text == "d")
		if err != nil {
			t.Fatal(err)
		}
		got += shown
	}
	if want := "ab" + strings.Repeat("c", 300) + "d"; got != want {
		t.Errorf("got %q", got)
	}
}

// What is emitted stands in the place of the text, also where it is empty, but for what is kept.
func TestFilter_Filter_Emitted(t *testing.T) {
	for text, want := range map[string]string{"": "ab", "é!": "é!é!", "\xff": "\uFFFD\uFFFD"} {
		g := filtering(emits(len(text)), i32(0)).Put(hosttest.AtScratch, text)
		if text == "" { // no call of emit
			g = filtering(i32(0))
		}
		f := use(t, g, 1).Filter()
		first, err := f.Filter("a", false)
		if err != nil {
			t.Fatal(err)
		}
		second, err := f.Filter("b", true)
		if got := first + second; got != want || err != nil {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
	g := filtering(emits(0), i32(0))
	if shown, err := use(t, g, 1).Filter().Filter("a", false); shown != "" || err != nil {
		t.Errorf("an empty text: %q, %v", shown, err)
	}
}

// A random world: tokens come, are injected and taken back. The filter keeps some text back and
// counts its calls: an instance that was begun anew has had those that stand, and a reader has all
// of the text in the end.
func TestFilter_Unfilter_RandomWorld(t *testing.T) {
	r := steadytest.Rand(t)
	for range 20 {
		g := filtering(global(0), i32(1), add, setGlobal(0), i32(hosttest.AtScratch), global(0), store,
			local(1), when(i32(0), ret), local(0), i32(3), asm.And) // 0 to 3 bytes are kept back
		g.Globals = 1
		s := unopened(t, g)
		a := answer.New(chain.New([]chain.Stage{s}, 100, 0), []scheduler.Token{1, 2}, answer.Settings{
			Filters: []answer.Filter{s.Filter()}, Longest: 100_000, VocabularySize: 100, Vocabulary: numbers{}})
		if err := a.Begin(); err != nil {
			t.Fatal(err)
		}
		var client, text strings.Builder
		read := func() {
			for _, shown := range a.Output().Shown {
				if kept := client.String(); !shown.IsToken() {
					client.Reset()
					client.WriteString(strings.TrimSuffix(kept, shown.Text))
					continue
				}
				client.WriteString(shown.Text)
			}
			a.Output().Reset()
		}
		for range 100 {
			switch n := a.Generated(); r.IntN(4) {
			case 0:
				a.Inject([]scheduler.Token{1 + r.Int32N(99)})
			case 1:
				if err := a.Rewind(r.IntN(min(n, 5) + 1)); err != nil {
					t.Fatal(err)
				}
			default:
				a.Advance(1+r.Int32N(99), answer.Details{})
			}
			read()
			if got, want := int(peek(s, hosttest.AtScratch)), len(s.filter.calls); got != want {
				t.Fatalf("the instance was called %d times; %d calls stand", got, want)
			}
		}
		a.Finish("")
		read()
		for _, token := range a.Tokens()[a.PromptLen():] {
			text.WriteString(numbers{}.Piece(token))
		}
		if got := client.String() + a.Flush(); got != text.String() {
			t.Fatalf("the client has %q of %q; %v", got, text.String(), a.Output().Err)
		}
	}
}
