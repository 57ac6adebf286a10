// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// Session is what host functions tell a guest about the request it serves. It outlives the
// instance, since another may replace it after tokens were taken back.
type Session struct {
	History       []int32         // the tokens of the conversation so far
	Params        [7]int64        // by the ABI's param kinds
	Logprob       float32         // of the token that is accepted; NaN: not known
	HiddenState   []float32       // behind the logits of the token that is drawn or accepted; empty: not known
	Messages      []byte          // JSON; while a template is rendered, and for who rewrote them and filters the answer
	Done          <-chan struct{} // closed when nobody waits for the guest any more; nil: never
	SetupDeadline time.Time       // every call must be over by then; zero: each has its own time
	Watcher       Watcher         // nil: nobody watches
	NoNotes       bool            // the plan does not need notes, so nobody reads them

	request *plugin.RequestInfo // nil: nobody's, to load the module
	owner   string              // who has the module loaded; empty: the operator
	config  []byte              // JSON
	random  random
	text    answerText
	parts   answerParts

	promptText promptText
	log        guestLog
	outputs
	notes
}

// NewSession begins a session of a request.
func (m *Module) NewSession(r *plugin.RequestInfo) *Session {
	s := &Session{request: r, config: r.Config, Messages: r.Messages, log: guestLog{left: m.Env.Limits.Log}}
	if m.configure != nil {
		s.config = m.configure(s.config)
	}
	if m.Env.LogLines {
		s.log.to = m.Env.Log.With("plugin", m.Name)
	}
	if len(s.config) == 0 {
		s.config = []byte("{}")
	}
	s.random = random{seed: r.Seed, index: uint64(r.Index), position: -1}
	s.Params = [...]int64{
		abi.ParamMaxTokens: int64(r.MaxTokens), abi.ParamContextSize: int64(r.ContextSize), abi.ParamSeed: int64(r.Seed),
		abi.ParamTime: -1, abi.ParamChoice: int64(r.Choice), abi.ParamChoices: int64(max(1, r.Choices)),
	}
	if !r.Time.IsZero() {
		s.Params[abi.ParamTime] = r.Time.UnixMilli()
	}
	s.Logprob = unknown
	return s
}

// client returns whose request it is; empty: the operator's.
func (s *Session) client() string {
	if s.request == nil {
		return s.owner
	}
	return s.request.Client
}

// unknown is a number that is not known.
var unknown = float32(math.NaN())

// newLoadingSession begins a session without a request, for describing and warming. What the
// operator's own modules log meanwhile goes to the operator's log.
func (m *Module) newLoadingSession(ctx context.Context) *Session {
	s := &Session{Done: ctx.Done(), Logprob: unknown, log: guestLog{left: m.Env.Limits.Log}}
	if m.kept != nil {
		s.owner = m.kept.client
	}
	if m.kept == nil || m.Env.LogLines {
		s.log.to = m.Env.Log
	}
	return s
}

// random counts the draws at a position. A draw depends only on its count, the position, the
// plugin's index in the chain and the seed. So an answer that is computed again, such as after
// tokens were taken back, draws the same.
type random struct {
	seed, index uint64
	position    int
	nth         uint64
}

// moveTo moves to a position; a new one begins with its first draw.
func (r *random) moveTo(position int) {
	if position != r.position {
		r.position, r.nth = position, 0
	}
}

// next returns 64 random bits.
func (r *random) next() uint64 {
	x := abi.Draw(r.seed, r.index, uint64(r.position), r.nth)
	r.nth++
	return x
}

// Output is a value that a guest gave for the client.
type Output struct {
	Tokens int             // that the answer had then
	Value  json.RawMessage // compact JSON
}

// outputs are the values that a guest gave its client in a session. They and their limits outlive
// an instance, as the session does.
type outputs struct {
	Replaying bool // the answer is replayed to a fresh instance: the client has these values already

	given        []Output
	count, bytes int // of all that were ever given
}

// TakeOutputs returns and forgets what the guest has given since the last call.
func (o *outputs) TakeOutputs() []Output {
	given := o.given
	o.given = nil
	return given
}

// givesOutput holds the exports in which a guest may give values: those that are called before the
// answer is over.
var givesOutput = [exports]bool{Open: true, Prepare: true, Sample: true, Accept: true, Stop: true, Filter: true, Rewind: true, Run: true}

// output takes a value. The error says why it is refused.
func (i *Instance) output(value []byte) error {
	s, limits := i.session, i.module.Env.Limits
	switch {
	case i.running == Close:
		return errors.New("output refused: the answer has been sent when penstock_close is called; give the value before, in accept or stop")
	case !givesOutput[i.running]:
		return fmt.Errorf("output refused: %s is no place for it", i.running)
	case s.Replaying:
		return nil
	case s.outputs.count == limits.Outputs:
		return fmt.Errorf("output refused: %d values are the most", limits.Outputs)
	case len(value) > limits.Output-s.outputs.bytes:
		return fmt.Errorf("output refused: a value of %d bytes after %d; all may have %d", len(value), s.outputs.bytes, limits.Output)
	}
	compact, err := compactJSON(value)
	if err != nil {
		return fmt.Errorf("output refused: %w", err)
	}
	s.outputs.count++
	s.outputs.bytes += len(value)
	s.given = append(s.given, Output{max(0, len(s.History)-int(s.Params[abi.ParamPromptTokens])), compact})
	return nil
}

// compactJSON copies one JSON value without its white space, so that it stands on one line.
func compactJSON(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, errors.New("the value is not UTF-8")
	}
	if jsonDepth(value) > abi.LimitSchemaDepth {
		return nil, fmt.Errorf("the value is nested more than %d levels deep", abi.LimitSchemaDepth)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	return b.Bytes(), nil
}

// jsonDepth is how deep a JSON value is nested. For invalid JSON the result is arbitrary.
func jsonDepth(value []byte) int {
	now, most, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

// notes are what a guest said about the token that is being decided, for its trace. They outlive an
// instance, as the session does.
type notes struct {
	noted  []string
	logged []string // lines of its log, with a limit of their own
	// of is the token that the notes are about, as a number of tokens accepted before it.
	of, accepted int
}

// TakeNotes returns and forgets what the guest noted and logged about the token that was accepted
// last, or about the next one.
func (n *notes) TakeNotes() []string {
	said := append(n.noted, n.logged...)
	n.noted, n.logged = nil, nil
	return said
}

// Accepting counts a token, before the call that tells the guest of it.
func (n *notes) Accepting() { n.accepted++ }

// isAboutToken reports whether the running call is about a token. If it is another token than that
// of the notes, they are dropped.
func (n *notes) isAboutToken(running Export) bool {
	of := n.accepted
	switch running {
	case Prepare, Sample:
	case Accept:
		of--
	default:
		return false
	}
	if of != n.of {
		n.noted, n.logged, n.of = nil, nil, of // nobody has taken the earlier ones
	}
	return true
}

// note takes a note. The error says why it is refused.
func (i *Instance) note(text []byte) error {
	n := &i.session.notes
	if !n.isAboutToken(i.running) {
		return fmt.Errorf("note refused: %s is no place for it", i.running)
	}
	switch {
	case i.session.Replaying || i.session.NoNotes:
		return nil
	case len(text) > abi.LimitNoteBytes:
		return fmt.Errorf("note refused: it has %d bytes, and %d are the most", len(text), abi.LimitNoteBytes)
	case !utf8.Valid(text):
		return errors.New("note refused: it is not UTF-8")
	case len(n.noted) == abi.LimitNotes:
		return fmt.Errorf("note refused: %d for a token are the most", abi.LimitNotes)
	}
	n.noted = append(n.noted, string(text))
	return nil
}

// noteLine adds a line of the log to the trace of the token that is being decided, as far as there
// is room.
func (i *Instance) noteLine(line []byte) {
	n := &i.session.notes
	if i.session.Replaying || !n.isAboutToken(i.running) || len(n.logged) == abi.LimitNotes {
		return
	}
	if len(line) > abi.LimitNoteBytes {
		line = dropCutCharacter(line[:abi.LimitNoteBytes])
	}
	n.logged = append(n.logged, strings.ToValidUTF8(string(line), "\uFFFD"))
}

// lastLines is how many lines of a guest's log are attached to an error.
const lastLines = 10

// guestLog takes the log of one request's guest. Up to a limit in bytes it goes to the operator's
// log, if the operator wants that. The last lines are kept for errors.
type guestLog struct {
	to    *slog.Logger // nil: none
	left  int          // bytes
	cut   bool
	lines []string
	open  [3][]byte // unfinished lines of standard output and error, by file descriptor
}

var levels = [...]slog.Level{
	abi.LogDebug: slog.LevelDebug, abi.LogInfo: slog.LevelInfo, abi.LogWarn: slog.LevelWarn, abi.LogError: slog.LevelError,
}

// lineCost is what a line counts in addition to its bytes: empty lines are not free.
const lineCost = 32

// dropCutCharacter drops the incomplete character at the end of a text that was cut.
func dropCutCharacter(text []byte) []byte {
	for n := 1; n <= min(len(text), utf8.UTFMax); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-n]
			}
			break
		}
	}
	return text
}

// add takes one line.
func (l *guestLog) add(level int32, line []byte) {
	if l.cut {
		return
	}
	if len(line)+lineCost > l.left {
		line, l.cut = dropCutCharacter(line[:min(len(line), l.left)]), true
	}
	l.left = max(0, l.left-len(line)-lineCost)
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if l.cut {
		text += " (the rest of this request's log is cut)"
	}
	l.keepLine(text)
	if l.to != nil {
		l.to.Log(context.Background(), levels[min(max(level, abi.LogDebug), abi.LogError)], text)
	}
}

// keepLine keeps a line for errors, in place of the oldest of ten. The first lines of a panic stay:
// a stack trace follows them.
func (l *guestLog) keepLine(text string) {
	if len(l.lines) == lastLines {
		if isPanic(l.lines[0]) {
			return
		}
		l.lines = l.lines[:copy(l.lines, l.lines[1:])]
	}
	l.lines = append(l.lines, text)
}

// isPanic reports whether a line begins what a toolchain writes before it traps.
func isPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panicked at ")
}

// output takes bytes of standard output (1) or error (2), and logs whole lines.
func (l *guestLog) output(file int, text []byte) {
	for !l.cut {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		open := append(l.open[file], line[:min(len(line), max(0, l.left-len(l.open[file])))]...)
		l.open[file] = open
		if !whole && len(open) < l.left {
			return
		}
		l.add(abi.LogInfo, open)
		l.open[file], text = open[:0], rest
	}
}

// last returns the last lines, an unfinished one included.
func (l *guestLog) last() []string {
	lines := append([]string(nil), l.lines...)
	for _, open := range l.open {
		if len(open) > 0 && !l.cut {
			lines = append(lines, strings.ToValidUTF8(string(open), "\uFFFD"))
		}
	}
	return lines
}
