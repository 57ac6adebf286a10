// SPDX-License-Identifier: MIT

package wire

import (
	"crypto/rand"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// Shape is how a dialect writes one answer. Frames and whole answers are encoded as JSON. A frame with a method EventName is a
// server-sent event of that name.
type Shape interface {
	// Start is the frames when a choice has got its slot.
	Start(c *completion.Choice) []any
	// Part is the frames for what an event adds to a choice.
	Part(c *completion.Choice, d completion.Delta) []any
	// Last is the frames that end a choice.
	Last(c *completion.Choice) []any
	// Closing is the frames after all choices.
	Closing(choices []*completion.Choice) []any
	// Whole is the answer in one piece. wholes are what its choices gathered.
	Whole(choices []*completion.Choice, wholes []*Whole) any
	// Framing is how its frames are told apart.
	Framing() Framing
}

// Detailed is a Shape for which the text of an answer is not enough. It is told of every event, of an answer in one piece too.
type Detailed interface {
	Shape
	// Event is the frames for an event, in the place of Start, Part and Last.
	Event(c *completion.Choice, d completion.Delta) []any
}

// Framing is how the frames of a stream are told apart.
type Framing uint8

// The framings.
const (
	Events     Framing = iota // server-sent events
	EventsDone                // the same, with [DONE] at the end
	Lines                     // each frame is a line of JSON
)

// Whole is what one choice has gathered for an answer in one piece.
type Whole struct {
	completion.Whole
	Details
}

// Details are what a client may want to know of tokens besides their text.
type Details struct {
	Probs  []TokenProb
	Traces []TokenTrace
}

// DetailsOf describes the token of an event as far as its request has asked for that.
func DetailsOf(c *completion.Choice, d completion.Delta) (out Details) {
	engine := c.Request.Model.Engine
	if p, ok := Probability(engine, d.Event); ok {
		out.Probs = []TokenProb{p}
	}
	if t := TraceOf(engine, d.Event); t != nil && c.Request.Params.Trace {
		out.Traces = []TokenTrace{*t}
	}
	return out
}

// ErrorShape is the body of an error answer in a dialect; it is encoded as JSON.
type ErrorShape func(e *completion.Error) any

const errorShapeKey = "error shape"

// Errors makes middleware that has errors written in a dialect's shape.
func Errors(shape ErrorShape) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(errorShapeKey, shape)
			return next(c)
		}
	}
}

// ErrorBody is the body of an error answer, in the dialect of its route: OpenAI's where none is set.
func ErrorBody(c echo.Context, e *completion.Error) any {
	if shape, ok := c.Get(errorShapeKey).(ErrorShape); ok {
		return shape(e)
	}
	return OpenAIError(e)
}

// Route is one route of a dialect.
type Route struct {
	Method, Path string
	Handler      echo.HandlerFunc
	Body         any // the zero value of what a JSON body is decoded into; nil: the route takes none
}

const callerKey = "caller"

// SetCaller notes who sends a request.
func SetCaller(c echo.Context, from completion.Caller) { c.Set(callerKey, from) }

// CallerOf is who sends a request.
func CallerOf(c echo.Context) completion.Caller {
	from, _ := c.Get(callerKey).(completion.Caller)
	return from
}

// Head is what every object of OpenAI's answers begins with.
type Head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`

	Fingerprint string `json:"system_fingerprint,omitempty"` // the program that answers
	Verbose     any    `json:"__verbose,omitempty"`          // llama-server's description of the answer
}

// Describe adds llama-server's description of the answer.
func (h *Head) Describe(answer any) { h.Verbose = answer }

// Heads makes the heads of one answer, streamed and whole.
type Heads struct {
	ID      string
	Created int64
	Model   string

	Fingerprint string
}

// NewHeads makes heads with a new id.
func NewHeads(prefix, model string) Heads {
	return Heads{ID: prefix + rand.Text(), Created: time.Now().Unix(), Model: model}
}

// Head is the head of an object.
func (h Heads) Head(object string) Head {
	return Head{ID: h.ID, Object: object, Created: h.Created, Model: h.Model, Fingerprint: h.Fingerprint}
}
