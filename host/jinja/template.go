// SPDX-License-Identifier: MIT

// Package jinja renders chat templates as Python's Jinja2 does, set up as in Hugging Face's
// Transformers, within bounds of time and memory.
//
// So it has trim_blocks, lstrip_blocks, loop controls, the tag generation, tojson as Transformers
// writes it, strftime_now and raise_exception. docs/chat-templates.md lists what is different from
// Python.
//
// # How is a template rendered?
//
// lexer.go cuts it into tokens, parser.go and expression.go make a tree of them, and the nodes of
// the tree evaluate themselves (execute.go) with Python's values (value.go). A
// complaint is a panic of a failure within the package, and an *Error outside.
//
// # How is it bounded?
//
// Each node that is evaluated is a step, and each text or list that is made is charged before it
// is made; what reads a long text takes a step for each 64 bytes. Nesting is bounded when a
// template is read, and recursion when it is rendered.
package jinja

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The bounds of a template.
const (
	maxSource  = 256 << 10 // bytes
	maxNesting = 200       // of brackets, blocks and operators before an operand
	maxChain   = 2000      // operators of a kind in a row
	maxDepth   = 200       // of calls of macros and rounds of loops, and of what is compared or printed
	maxLevel   = 20_000    // of expressions within expressions when they are evaluated
	maxDigits  = 4300      // of an int in decimal, which is Python's
	maxBits    = 1 << 18   // of an int
)

// Limits bound what a rendering may take.
type Limits struct {
	Steps int // nodes of the tree that are evaluated, and the like
	Bytes int // of texts and lists that are made, counting those that are gone again
}

// DefaultLimits let a template take a second or two.
var DefaultLimits = Limits{Steps: 10_000_000, Bytes: 512 << 20}

// Error is a template's complaint, about itself or about what it was given.
type Error struct {
	Line   int    // of the template; 0: none
	Reason string // in Jinja2's words, or Python's
	Kind   ErrorKind
}

// ErrorKind is why a template complains.
type ErrorKind uint8

// The kinds of errors.
const (
	Fault  ErrorKind = iota // it does what Python refuses, or it cannot be read
	Raised                  // by raise_exception: the template refuses what it was told
	Bound                   // it takes more than it may
)

// Error names the line and the reason.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return "line " + strconv.Itoa(e.Line) + " of the template: " + e.Reason
}

// Template is a template that was read. It is safe for concurrent use.
type Template struct {
	body   []statement
	Limits Limits
	Now    func() time.Time // of strftime_now

	// Lenient takes what is undefined or None for an empty text where one is added to it, and a
	// number, a list or a dict for its text, and writes as JSON what Python's cannot. Some templates
	// are written for programs that do so.
	Lenient bool
}

// failure is what a panic within this package carries to its edge.
type failure struct {
	line   int
	reason string
	kind   ErrorKind
	cause  error // of a context that is done
}

func (f *failure) asError() error {
	if f.cause != nil {
		return f.cause
	}
	return &Error{f.line, f.reason, f.kind}
}

// broken is what an error begins with that is this package's fault.
const broken = "the interpreter of Jinja failed: "

// recovered turns a failure into an error. A panic of another kind is a fault of this package; it
// becomes one too, since it would end the process.
func recovered(err *error) {
	switch v := recover().(type) {
	case nil:
	case *failure:
		*err = v.asError()
	default:
		*err = &Error{Reason: broken + fmt.Sprint(v)}
	}
}

// Parse reads a template. Errors are an *Error.
func Parse(source string) (t *Template, err error) {
	defer recovered(&err)
	if len(source) > maxSource {
		return nil, &Error{Reason: fmt.Sprintf("the chat template has %d bytes; at most 256 KiB is taken", len(source))}
	}
	p := parser{tokens: tokensOf(strings.ToValidUTF8(source, "\uFFFD"))}
	return &Template{body: p.statements(), Limits: DefaultLimits, Now: time.Now}, nil
}

// Render gives the text for what a template is told, whose values are those of FromJSON. A
// template's complaint is an *Error. When ctx is done it ends soon, with its cause.
func (t *Template) Render(ctx context.Context, told *Dict) (text string, err error) {
	r := &run{ctx: ctx, steps: t.Limits.Steps, bytes: t.Limits.Bytes, told: told, now: t.Now, lenient: t.Lenient, out: &builder{}}
	defer recovered(&err)
	r.global = &scope{}
	r.scope = r.global
	r.step(1)
	r.execute(t.body)
	return r.out.String(), nil
}

// run is a rendering.
type run struct {
	ctx     context.Context //nolint:containedctx // it lives as long as the call
	steps   int
	bytes   int
	depth   int
	level   int // of expressions within expressions, through macros
	line    int
	asked   int // steps left until ctx is asked
	told    *Dict
	now     func() time.Time
	lenient bool
	out     *builder
	scope   *scope
	global  *scope // of the template itself
}

// variable is a name and its value.
type variable struct {
	name  string
	value Value
}

// scope is the names of a block.
type scope struct {
	parent *scope
	values []variable
}

func (s *scope) set(n string, v Value) {
	for i := range s.values {
		if s.values[i].name == n {
			s.values[i].value = v
			return
		}
	}
	s.values = append(s.values, variable{n, v})
}

// lookup is the value of a name.
func (r *run) lookup(n string) Value {
	for s := r.scope; s != nil; s = s.parent {
		for i := range s.values {
			if s.values[i].name == n {
				if s.values[i].value == missing {
					return &Undefined{name: n}
				}
				return s.values[i].value
			}
		}
	}
	if v, ok := r.told.get(r, n); ok {
		return v
	}
	if f, ok := globals[n]; ok {
		return f
	}
	return &Undefined{name: n}
}

func (r *run) eval(e expression) Value {
	r.step(1)
	if r.level++; r.level > maxLevel {
		r.exceed("maximum recursion depth exceeded")
	}
	v := e.eval(r)
	r.level--
	return v
}

func format(pattern string, args ...any) string { return fmt.Sprintf(pattern, args...) }

// fail ends the rendering with a complaint.
func (r *run) fail(pattern string, args ...any) {
	if len(args) > 0 {
		pattern = fmt.Sprintf(pattern, args...)
	}
	panic(&failure{line: r.line, reason: pattern})
}

// exceed ends the rendering because it takes too much.
func (r *run) exceed(pattern string, args ...any) {
	panic(&failure{line: r.line, reason: fmt.Sprintf(pattern, args...), kind: Bound})
}

// step counts n steps, and asks now and then whether anybody waits.
func (r *run) step(n int) {
	if r.steps -= n; r.steps < 0 {
		r.exceed("the template takes too long")
	}
	if r.asked -= n; r.asked < 0 {
		r.asked = 1000
		if r.ctx.Err() != nil {
			panic(&failure{cause: context.Cause(r.ctx)})
		}
	}
}

// scan counts the reading of a text, or of n bytes.
func (r *run) scan(n int) { r.step(n >> 6) }

// charge counts n bytes before they are made.
func (r *run) charge(n int) {
	if n < 0 || n > r.bytes {
		r.exceed("the template takes too much memory")
	}
	r.bytes -= n
	if n > 1<<10 {
		r.step(n >> 10)
	}
}

// deeper counts a level of what recurses; the result ends it.
func (r *run) deeper() func() {
	if r.depth++; r.depth > maxDepth {
		r.exceed("maximum recursion depth exceeded")
	}
	return func() { r.depth-- }
}
