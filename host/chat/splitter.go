// SPDX-License-Identifier: MIT

package chat

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/plugins/abi"
)

// Delta is what an answer has gained.
type Delta struct {
	Reasoning string
	Content   string
	Call      *CallDelta // nil: nothing of a tool call
}

// CallDelta is the begin of a tool call or more of its arguments.
type CallDelta struct {
	Index     int    // among the calls of the answer, from 0
	ID, Name  string // only where the call begins
	Arguments string // more of the text of a JSON object, or of what a custom tool is given
	Custom    bool   // the tool is a custom one
}

// Parser takes an answer apart while its text grows.
type Parser interface {
	// Add appends text and returns what the answer gains by it. Each call takes time with the
	// whole answer. complete says that no text follows. The error is ErrFormat if the answer, now
	// or whatever follows, breaks its format.
	Add(text string, complete bool) ([]Delta, error)
	// Cut returns what the answer gains where it was cut off. No text follows, but it may end with
	// half a mark, which is nothing. Its error is Add's.
	Cut() ([]Delta, error)
	Close() error
}

// ErrFormat is the kind of errors of a Parser that are the answer's fault.
var ErrFormat = errors.New("the answer breaks its format")

// Splitter takes one answer apart while its text grows, and spends little time on it however long
// it gets.
type Splitter struct {
	prompt Prompt
	parser Parser
	broken bool         // the parser has given up, or there is none: what comes is content
	held   []byte       // text that waits for the parser
	untold string       // text that the parser has seen, and that is in none of the deltas so far
	told   bool         // there were deltas
	json   *jsonContent // what the content is; nil: not JSON
	custom *customCalls
	closed bool
	next   time.Time
	making time.Duration // how long the parser took to make, if it has not rested for that
}

// NewSplitter begins the answer to a prompt.
func (p Prompt) NewSplitter() (*Splitter, error) {
	if !p.HasParts {
		return &Splitter{prompt: p, broken: true}, nil
	}
	parser, err := p.NewParser()
	if err != nil {
		return nil, fmt.Errorf("parser of the answer: %w", err)
	}
	open.Add(1)
	return &Splitter{prompt: p, parser: parser, json: p.json(), custom: newCustomCalls(p.Custom)}, nil
}

// Restart starts again with a parser that has seen nothing, for an answer of which tokens were
// taken back: text is what is left of it, which the next Take tells of. That is to wait for the
// same time.
func (a *Splitter) Restart(text string) error {
	a.held = append(a.held[:0], text...)
	if !a.prompt.HasParts {
		return nil
	}
	begin, p := time.Now(), a.prompt
	parser, err := p.NewParser()
	if err != nil {
		return fmt.Errorf("parser of the answer: %w", err)
	}
	err = a.parser.Close()
	a.parser, a.broken, a.untold, a.told, a.json, a.custom = parser, false, "", false, p.json(), newCustomCalls(p.Custom)
	a.making += time.Since(begin)
	return err
}

// Add appends text, which the next Take tells of.
func (a *Splitter) Add(text string) { a.held = append(a.held, text...) }

// Waits reports whether there is text that no Take has told of.
func (a *Splitter) Waits() bool { return len(a.held) > 0 }

// A Parser reads the whole answer again and again. Between two times it rests leastRest times as
// long as the first took, or restPerAnswer times for each answer that is open: it takes no more
// than 1/16 of a core, and all together a quarter. With 10,000 tokens that holds text back by some
// milliseconds. On a busy machine, where a parse may be long for want of a processor, text is not
// held back longer than longestRest.
const (
	leastRest     = 15
	restPerAnswer = 4
	longestRest   = 200 * time.Millisecond
)

// open counts the answers that have a parser.
var open atomic.Int64

// Rest is how long Take should not be called, so that parsing costs little.
func (a *Splitter) Rest() time.Duration { return max(0, time.Until(a.next)) }

// Take returns what the answer has gained since the last time.
func (a *Splitter) Take() ([]Delta, error) { return a.take(grows) }

// End is Take after the last text.
func (a *Splitter) End() ([]Delta, error) { return a.take(whole) }

// Cut is Take after the last text of an answer that was cut off.
func (a *Splitter) Cut() ([]Delta, error) { return a.take(cut) }

// ending is what comes behind a text.
type ending uint8

const (
	grows ending = iota // more may
	whole               // nothing does
	cut                 // nor here, but it may end with half of what was to come
)

func (a *Splitter) take(at ending) ([]Delta, error) {
	text := string(a.held)
	a.held = a.held[:0]
	switch {
	case text == "" && (a.broken || at == grows):
		return nil, nil
	case a.broken:
		return a.json.keepJSON([]Delta{{Content: text}}), nil
	}
	begin := time.Now()
	deltas, err := read(a.parser, text, at)
	end := time.Now()
	took := end.Sub(begin) + a.making
	a.making = 0
	a.next = end.Add(min(longestRest, time.Duration(max(leastRest, restPerAnswer*open.Load()))*took))
	a.untold += text
	if errors.Is(err, ErrFormat) && !a.told {
		if again := a.readRestarted(at); again != nil {
			deltas, err = again, nil
		}
	}
	if silent := err == nil && at == whole && !a.told && len(deltas) == 0; silent || errors.Is(err, ErrFormat) {
		return a.json.keepJSON(a.giveUp()), nil
	}
	for i := range deltas {
		if c := deltas[i].Call; c != nil && c.Name != "" && c.ID == "" {
			c.ID = "call_" + rand.Text()
		}
	}
	if n := len(deltas); n > 0 {
		a.told = true
		a.untold = textAfter(a.untold, deltas[n-1])
	}
	deltas = a.custom.translate(deltas)
	return a.json.keepJSON(deltas), err
}

// read is what an answer gains by a text with such an ending.
func read(p Parser, text string, at ending) ([]Delta, error) {
	deltas, err := p.Add(text, at == whole)
	if at != cut || err != nil {
		return deltas, err
	}
	more, err := p.Cut()
	return append(deltas, more...), err
}

// mostAnew bounds how often it is looked for an answer that begins anew.
const mostAnew = 8

// readRestarted reads what an answer says whose beginning is garbled, and in which the model has
// begun anew, as gpt-oss does with each of its messages; nil: it has not.
func (a *Splitter) readRestarted(at ending) []Delta {
	begin := strings.TrimSpace(a.prompt.GenerationPrompt)
	rest := a.untold
	for range mostAnew {
		var found bool
		if _, rest, found = strings.Cut(rest, begin); !found || begin == "" {
			return nil
		}
		parser, err := a.prompt.NewParser()
		if err != nil {
			return nil
		}
		deltas, err := read(parser, rest, at)
		if closed := parser.Close(); err == nil && closed == nil && len(deltas) > 0 {
			return deltas
		}
	}
	return nil
}

// giveUp has what the parser cannot read be content: the client sees all that the model wrote.
func (a *Splitter) giveUp() []Delta {
	a.broken = true
	if a.untold == "" {
		return nil
	}
	return []Delta{{Content: a.untold}}
}

// textAfter finds what follows a delta in the text that it comes from; nothing where it is not
// there literally.
func textAfter(text string, d Delta) string {
	part := d.Content
	switch {
	case part == "" && d.Call == nil:
		part = d.Reasoning
	case part == "":
		part = cmp.Or(d.Call.Arguments, d.Call.Name)
	}
	at := strings.LastIndex(text, part)
	if at < 0 {
		return ""
	}
	return text[at+len(part):]
}

// Close frees the parser.
func (a *Splitter) Close() error {
	if !a.prompt.HasParts {
		return nil
	}
	if !a.closed {
		a.closed = true
		open.Add(-1)
	}
	return a.parser.Close()
}

// PartTeller tells which part of an answer its text ends in.
type PartTeller struct {
	splitter *Splitter
	text     string
	first    abi.Part // of an answer without text: what the prompt has opened
	last     abi.Part
}

// NewPartTeller begins to follow an answer to a prompt.
func (p Prompt) NewPartTeller() (*PartTeller, error) {
	s, err := p.NewSplitter()
	if err != nil {
		return nil, err
	}
	t := &PartTeller{splitter: s, first: abi.PartContent, last: abi.PartContent}
	t.first = t.Part("a") // any word
	return t, nil
}

// Part is the part that a text ends in, which is mostly the one before and some more.
func (t *PartTeller) Part(text string) abi.Part {
	more, grown := strings.CutPrefix(text, t.text)
	var err error
	if grown {
		t.splitter.Add(more)
	} else {
		t.last = t.first
		err = t.splitter.Restart(text)
	}
	t.text = text
	var deltas []Delta
	if err == nil {
		deltas, err = t.splitter.Take()
	}
	if err != nil {
		t.last = abi.PartUnknown
	} else if part, ok := partOf(deltas); ok {
		t.last = part
	}
	return t.last
}

// partOf is the part that some text has added to: a call if there is one, since its marks are none
// of the content before it.
func partOf(deltas []Delta) (_ abi.Part, ok bool) {
	switch {
	case slices.ContainsFunc(deltas, func(d Delta) bool { return d.Call != nil }):
		return abi.PartToolCall, true
	case slices.ContainsFunc(deltas, func(d Delta) bool { return d.Content != "" }):
		return abi.PartContent, true
	case slices.ContainsFunc(deltas, func(d Delta) bool { return d.Reasoning != "" }):
		return abi.PartReasoning, true
	}
	return 0, false
}

// Close frees the parser.
func (t *PartTeller) Close() { _ = t.splitter.Close() } // it is memory only

// jsonContent tells the JSON of an answer from what may stand around it: white space and a fence.
// llama.cpp's parser of such answers leaves them out; where calls may come as well, that of texts
// does not.
type jsonContent struct {
	before string // so far, where the JSON has not begun
	begun  bool
	fenced bool
	quoted bool   // the content so far ends within a string
	escape bool   // and there with a backslash
	spaces string // that were held back: more JSON may follow them
	over   bool
}

// json is the reader of an answer's content; nil: the parser of the answer knows what it is.
func (p Prompt) json() *jsonContent {
	if p.Rules == nil || p.Rules.Texts == "" || len(p.Rules.Answer.JSON) == 0 {
		return nil
	}
	return &jsonContent{}
}

// keepJSON has the contents of deltas be JSON alone.
func (j *jsonContent) keepJSON(deltas []Delta) []Delta {
	for i := range deltas {
		if j != nil && deltas[i].Content != "" {
			deltas[i].Content = j.add(deltas[i].Content)
		}
	}
	return deltas
}

// add is the JSON that more text adds.
func (j *jsonContent) add(text string) string {
	if !j.begun {
		j.before = strings.TrimLeft(j.before+text, jsonSpace)
		if !j.fenced && j.before != peg.Fence && strings.HasPrefix(peg.Fence, j.before) {
			return ""
		}
		if rest, fenced := strings.CutPrefix(j.before, peg.Fence); fenced {
			j.fenced, j.before = true, rest
		}
		text = strings.TrimLeft(j.before, jsonSpace)
		if j.begun = text != ""; !j.begun {
			return ""
		}
	}
	var told strings.Builder
	for i := 0; i < len(text) && !j.over; i++ {
		c := text[i]
		switch {
		case j.escape:
			j.escape = false
		case j.quoted:
			j.quoted, j.escape = c != '"', c == '\\'
		case c == '`' && j.fenced:
			j.over = true
			continue
		case strings.IndexByte(jsonSpace, c) >= 0:
			j.spaces += string(c)
			continue
		default:
			j.quoted = c == '"'
		}
		told.WriteString(j.spaces)
		told.WriteByte(c)
		j.spaces = ""
	}
	return told.String()
}

const jsonSpace = " \t\r\n"
