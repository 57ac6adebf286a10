// SPDX-License-Identifier: MIT

package plugintest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// folder is where sessions are written to; empty: nowhere.
var folder = os.Getenv("PENSTOCK_RECORD")

// recording is a session as it is written down.
type recording struct {
	calls  []call
	render *call // the template's call: an instance of its own, and so a session of its own
	asked  []asked
	told   int    // of Outputs
	deeds  []deed // of a program, since its last wait
}

// note adds a call.
func (s *Session) note(c call) {
	if folder == "" {
		return
	}
	for _, value := range s.Outputs[s.told:] {
		c.Outputs = append(c.Outputs, json.RawMessage(value))
	}
	s.told = len(s.Outputs)
	c.Asked, s.asked = s.asked, nil
	s.calls = append(s.calls, c)
}

// rendered notes the call of a template.
func (s *Session) rendered(c call) {
	c.Asked, s.asked = s.asked, nil
	if s.render == nil {
		s.render = &c
	}
}

// times are how many sessions a test has had, by its name.
var times = map[string]int{}

// record writes the session when its test is over, to a file that has the same name the next time.
// A configuration that is no JSON never reaches a plugin, so it is not written.
func (s *Session) record(t testing.TB, plugin string, q Request) {
	if folder == "" || q.Config != "" && !json.Valid([]byte(q.Config)) {
		return
	}
	times[t.Name()]++
	name := fmt.Sprintf("%s.%s.%d", plugin, strings.NewReplacer("/", ".", " ", "_").Replace(t.Name()), times[t.Name()])
	t.Cleanup(func() {
		file := s.file(t.Name(), plugin, q)
		text, err := json.Marshal(file)
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+".json"), append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Errorf("the session could not be written: %v", err)
		}
	})
}

// file puts the session together.
func (s *Session) file(test, plugin string, q Request) file {
	f := file{Version: 1, Model: raw(q.Model), Vocabulary: s.vocabulary(q)}
	r := request{
		Config: raw(q.Config), Messages: raw(q.Messages), Media: raw(q.Media), Sampling: raw(q.Sampling),
		Prompt: asWritten(q.Prompt), MaxTokens: q.MaxTokens, ContextSize: q.ContextSize, Seed: q.Seed, Time: q.Time, Choice: q.Choice, Choices: q.Choices,
	}
	add := func(calls ...call) {
		f.Sessions = append(f.Sessions, session{test, map[string]string{"name": plugin}, r, calls})
	}
	if s.render != nil {
		add(*s.render)
	}
	if s.render == nil || len(s.calls) > 1 {
		add(s.calls...)
	}
	return f
}

// asWritten are tokens as a session file has them.
func asWritten(tokens []penstock.Token) []int32 {
	written := make([]int32, len(tokens))
	for i, t := range tokens {
		written[i] = int32(t)
	}
	return written
}

// vocabulary is the request's. Where it has no pieces, there are as many empty ones as the calls
// have tokens.
func (s *Session) vocabulary(q Request) vocabulary {
	v := vocabulary{LongestPiece: true, Attributes: map[string][]penstock.Token{}, Special: map[string]penstock.Token{}}
	for _, piece := range q.Pieces {
		v.Pieces = append(v.Pieces, text(piece))
	}
	if len(q.Pieces) == 0 {
		most := penstock.Token(0)
		for _, c := range s.calls {
			if c.Token != nil {
				most = max(most, *c.Token)
			}
		}
		for _, t := range q.Prompt {
			if t == penstock.MediaToken {
				continue
			}
			most = max(most, t)
		}
		v.Pieces = make([]text, most+1)
	}
	for t, bits := range q.Attributes {
		for name, bit := range attributes {
			if bits&bit != 0 {
				v.Attributes[name] = append(v.Attributes[name], t)
			}
		}
	}
	for _, tokens := range v.Attributes {
		slices.Sort(tokens)
	}
	for name, kind := range specials {
		if t, ok := q.Special[kind]; ok {
			v.Special[name] = t
		}
	}
	return v
}

var (
	attributes = map[string]penstock.Attributes{"control": penstock.AttrControl, "end": penstock.AttrEnd, "byte": penstock.AttrByte, "unused": penstock.AttrUnused}
	specials   = map[string]penstock.Special{"bos": penstock.BOS, "eos": penstock.EOS, "eot": penstock.EOT, "newline": penstock.Newline}
)

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
