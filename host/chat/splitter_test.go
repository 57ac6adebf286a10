// SPDX-License-Identifier: MIT

package chat

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

// scripted is a parser of reasoning, which ends with a "|", and content. A "<" holds back what
// follows, and a "!" breaks the format at the answer's end. It takes time.
type scripted struct {
	takes  time.Duration
	text   string
	told   int // bytes
	parses int
	closed bool
}

func (s *scripted) Add(text string, complete bool) (deltas []Delta, _ error) {
	time.Sleep(s.takes)
	s.parses++
	s.text += text
	if complete && strings.Contains(s.text, "!") {
		return nil, ErrFormat
	}
	for _, part := range strings.SplitAfter(strings.SplitN(s.text, "<", 2)[0], "|") {
		fresh := part[min(s.told, len(part)):]
		s.told = max(0, s.told-len(part))
		switch {
		case fresh == "":
		case strings.HasSuffix(part, "|"):
			deltas = append(deltas, Delta{Reasoning: strings.TrimSuffix(fresh, "|")})
		default:
			deltas = append(deltas, Delta{Content: fresh})
		}
	}
	s.told = len(strings.SplitN(s.text, "<", 2)[0])
	return deltas, nil
}

func (s *scripted) Cut() ([]Delta, error) {
	if strings.Contains(s.text, "!") {
		return nil, ErrFormat
	}
	return nil, nil
}

func (s *scripted) Close() error { s.closed = true; return nil }

func answering(t *testing.T, p Parser) *Splitter {
	t.Helper()
	a := must.Get(Prompt{HasParts: true, NewParser: func() (Parser, error) { return p, nil }}.NewSplitter())(t)
	must.Close(t, a)
	return a
}

func TestSplitter_TakesPartsAsTheyGrow(t *testing.T) {
	p := &scripted{}
	a := answering(t, p)
	var got [][]Delta
	for _, text := range []string{"hm|", "hel", "", "lo"} {
		a.Add(text)
		deltas := must.Get(a.Take())(t)
		got = append(got, deltas)
	}
	want := [][]Delta{{{Reasoning: "hm"}}, {{Content: "hel"}}, nil, {{Content: "lo"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if end, err := a.End(); len(end) != 0 || err != nil || p.parses != 4 {
		t.Errorf("at the end %v %v after %d parses", end, err, p.parses)
	}
	if err := a.Close(); err != nil || !p.closed {
		t.Error(err)
	}
}

// Many answers share what parsers may take, but none waits long.
func TestSplitter_Rest_OfManyAnswers(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{100 * time.Microsecond: 40 * time.Millisecond, 5 * time.Millisecond: longestRest} {
		synctest.Test(t, func(t *testing.T) {
			var a *Splitter
			for range 100 {
				a = answering(t, &scripted{takes: takes})
			}
			a.Add("x")
			if _, err := a.Take(); err != nil || a.Rest() != want {
				t.Errorf("%v; after %v the parser rests for %v, want %v", err, takes, a.Rest(), want)
			}
		})
	}
}

// However many tokens there are, a slow parser runs one sixteenth of the time, and what it has not
// seen waits no longer than that asks for.
func TestSplitter_Rest_BoundsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &scripted{takes: 2 * time.Millisecond}
		a := answering(t, p)
		var content int
		begin := time.Now()
		for range 1000 {
			time.Sleep(time.Millisecond)
			a.Add("x")
			if a.Rest() > 0 {
				continue
			}
			deltas := must.Get(a.Take())(t)
			content += len(deltas[0].Content)
		}
		share := float64(p.parses) * float64(p.takes) / float64(time.Since(begin))
		if share > 1.0/15 || content < 1000-31 {
			t.Errorf("%d parses took %.0f%% of the time, %d bytes were told", p.parses, 100*share, content)
		}
		if a.Waits() != (content < 1000) || a.Rest() > 30*time.Millisecond {
			t.Errorf("the rest waits for %v", a.Rest())
		}
	})
}

// What the parser cannot make sense of is content: a client sees all that the model wrote.
func TestSplitter_BrokenFormat_IsContent(t *testing.T) {
	for text, want := range map[string][]Delta{
		"hm|hello<call!": {{Content: "<call!"}}, // the rest was told
		"<call!":         {{Content: "<call!"}},
		"<call":          {{Content: "<call"}}, // its parser says nothing
	} {
		a := answering(t, &scripted{})
		a.Add(text)
		must.Get(a.Take())(t)
		got, err := a.End()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// calling begins a call, without an id and with one.
type calling struct{ scripted }

func (*calling) Add(string, bool) ([]Delta, error) {
	return []Delta{{Call: &CallDelta{Name: "f"}}, {Call: &CallDelta{Arguments: "{}"}}, {Call: &CallDelta{Index: 1, ID: "7", Name: "g"}}}, nil
}

func TestSplitter_Calls_HaveIDs(t *testing.T) {
	a := answering(t, &calling{})
	a.Add("f g")
	got, err := a.Take()
	if err != nil || !strings.HasPrefix(got[0].Call.ID, "call_") || got[1].Call.ID != "" || got[2].Call.ID != "7" {
		t.Errorf("%v %+v %+v %+v", err, got[0].Call, got[1].Call, got[2].Call)
	}
}

func TestPrompt_NewAnswer_WithoutParser(t *testing.T) {
	none := errors.New("no memory")
	if _, err := (Prompt{HasParts: true, NewParser: func() (Parser, error) { return nil, none }}).NewSplitter(); !errors.Is(err, none) {
		t.Errorf("got %v", err)
	}
}

// A parser that is slow to make rests for that, too, however often tokens are taken back.
func TestSplitter_Restart_RestsForTheNewParser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := answering(t, &scripted{takes: time.Millisecond})
		a.prompt.NewParser = func() (Parser, error) {
			time.Sleep(2 * time.Millisecond)
			return &scripted{takes: time.Millisecond}, nil
		}
		must.Do(t, a.Restart("x"))
		for _, want := range []time.Duration{45 * time.Millisecond, 15 * time.Millisecond} { // the second time there is nothing to make
			if _, err := a.Take(); err != nil || a.Rest() != want {
				t.Errorf("%v; it rests for %v, want %v", err, a.Rest(), want)
			}
			a.Add("y")
		}
	})
}

// Half a mark at the end of an answer that was cut off is not told, and what breaks the format is.
func TestSplitter_Cut(t *testing.T) {
	for text, want := range map[string]string{"a|b<c": "b", "<c": "", "<!": "<!"} {
		a := answering(t, &scripted{})
		a.Add(text)
		deltas, err := a.Cut()
		got := ""
		for _, d := range deltas {
			got += d.Content
		}
		if got != want || err != nil {
			t.Errorf("%q: content %q, %v; want %q", text, got, err, want)
		}
	}
}

// An answer whose beginning is garbled is what the model says where it begins anew.
func TestSplitter_BeginsAnew(t *testing.T) {
	for text, want := range map[string]string{"x!@y!@hm|b": "b", "x!y": "x!y", "a|b@c!": "a|b@c!"} {
		p := Prompt{GenerationPrompt: "@\n", HasParts: true, NewParser: func() (Parser, error) { return &scripted{}, nil }}
		a := must.Get(p.NewSplitter())(t)
		a.Add(text)
		deltas, err := a.End()
		got := ""
		for _, d := range deltas {
			got += d.Content
		}
		if got != want || err != nil || a.Close() != nil {
			t.Errorf("%q: content %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestJSONContent(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:                                  `{"a": 1}`,
		" \n\t{\"a\": [1, 2]} \n":                   `{"a": [1, 2]}`,
		"```json\n{\"a\":\n 1}\n```":                "{\"a\":\n 1}",
		"  ```json{\"a\": \"`` \\\"`\\\\\"} ``` \n": "{\"a\": \"`` \\\"`\\\\\"}",
		"```json {\"a\": \"``":                      "{\"a\": \"``",
		"```json {\"a\": 1}\n``":                    `{"a": 1}`,
		"```js":                                     "",
		"```json":                                   "",
		"```python\nprint()\n```":                   "```python\nprint()\n```", // as a plugin may have it
		"no `JSON` at all":                          "no `JSON` at all",
	} {
		var bytes strings.Builder
		j, one := &jsonContent{}, &jsonContent{}
		for i := range len(text) {
			bytes.WriteString(one.add(text[i : i+1]))
		}
		if got := j.add(text); got != want || bytes.String() != want {
			t.Errorf("%q: got %q, byte by byte %q, want %q", text, got, bytes.String(), want)
		}
	}
}
