// SPDX-License-Identifier: MIT

package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
)

// Route is one route of a dialect.
type Route struct {
	Method, Path string
	Handler      echo.HandlerFunc
	Body         any  // the zero value of what a body of JSON, or a form, is decoded into; nil: the route takes none
	Admin        bool // it changes what all clients share: where there are keys, it is for the admin's
	OwnKey       bool // the handler asks for a key itself where a WebSocket comes without one, which then has no caller
}

// TakesForm reports whether the body is a form with a file instead of JSON: its zero value has a
// File.
func (r Route) TakesForm() bool {
	return slices.ContainsFunc(Fields(r.Body), func(f Field) bool { return f.Type == fileType })
}

const (
	callerKey = "caller"
	sentKey   = "sent"
)

// SetCaller notes who sends a request.
func SetCaller(c echo.Context, from completion.Caller) { c.Set(callerKey, from) }

// NoteSent has what is sent be noted, for receipts.
func NoteSent(c echo.Context) { c.Set(sentKey, completion.Sent{}) }

// CallerOf is who sends a request, with what was received of it.
func CallerOf(c echo.Context) completion.Caller {
	from, _ := c.Get(callerKey).(completion.Caller)
	from.Sent, _ = c.Get(sentKey).(completion.Sent)
	return from
}

// HasCaller reports whether it is known who sends a request.
func HasCaller(c echo.Context) bool { return c.Get(callerKey) != nil }

// Field is a field that the bodies of a route may have.
type Field struct {
	Name    string
	Type    string // as JSON has it: text, number, integer, true or false, list, object, file; "": several
	Range   string // of a number that has one range on all routes: 0 to 1
	Refused bool   // where it asks for something
	LeftOut bool   // likewise: it is accepted and ignored, and the client is told so
}

// Fields lists the fields of a body by the struct that it is decoded into. A field with the tag
// api:"refused" or api:"left out" is known, and refused or left out; the tags min and max are its
// range.
func Fields(body any) []Field {
	if body == nil {
		return nil
	}
	return fieldsOf(reflect.TypeOf(body))
}

// fieldsOf lists a struct's own fields, and those of embedded structs that it does not have itself.
func fieldsOf(t reflect.Type) (fields []Field) {
	own := map[string]bool{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		own[name] = true
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields = append(fields, slices.DeleteFunc(fieldsOf(f.Type), func(f Field) bool { return own[f.Name] })...)
		case name != "" && name != "-":
			fields = append(fields, Field{name, typeOf(f.Type), rangeOf(f.Tag), f.Tag.Get("api") == "refused", f.Tag.Get("api") == "left out"})
		}
	}
	return fields
}

func rangeOf(tag reflect.StructTag) string {
	if tag.Get("min") == "" {
		return ""
	}
	return tag.Get("min") + " to " + tag.Get("max")
}

// typeOf says what a field's Go type takes, in JSON's words.
func typeOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[File]() {
		return fileType
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return "" // it reads what it is given itself
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "integer"
}

// ErrorShape is the body of an error answer in a dialect; it is encoded as JSON.
type ErrorShape func(e *refusal.Error) any

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

// ErrorBody is the body of an error answer, in the dialect of its route: OpenAI's where none is
// set.
func ErrorBody(c echo.Context, e *refusal.Error) any {
	if shape, ok := c.Get(errorShapeKey).(ErrorShape); ok {
		return shape(e)
	}
	return OpenAIError(e)
}

// ErrorEnvelope is the body of an error answer in OpenAI's shape.
type ErrorEnvelope struct {
	Error ErrorObject `json:"error"`
}

// ErrorObject is an error in OpenAI's shape.
type ErrorObject struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`

	// Of a prompt that is too long, as llama-server has them.
	PromptTokens int `json:"n_prompt_tokens,omitempty"`
	Context      int `json:"n_ctx,omitempty"`

	// Of what is wrong in a script, from 1.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// ErrorOf writes an error in OpenAI's shape.
func ErrorOf(e *refusal.Error) ErrorObject {
	b := ErrorObject{Code: e.Code, Message: e.Message, Type: TypeOf(e),
		PromptTokens: e.Numbers[refusal.PromptTokens], Context: e.Numbers[refusal.ContextTokens],
		Line: e.Numbers[refusal.ScriptLine], Column: e.Numbers[refusal.ScriptColumn]}
	if e.Field != "" {
		b.Param = &e.Field
	}
	return b
}

// OpenAIError is the ErrorShape of OpenAI.
func OpenAIError(e *refusal.Error) any { return ErrorEnvelope{ErrorOf(e)} }

// The types of errors, as OpenAI's shape has them.
const (
	typeInvalid     = "invalid_request_error"
	typeAuth        = "authentication_error"
	typeForbid      = "permission_error"
	typeBusy        = "rate_limit_error"
	typeServer      = "server_error"
	typeUnavailable = "unavailable_error"
	TypeTooLong     = "exceed_context_size_error" // llama-server's
	typeLacking     = "not_supported_error"       // likewise: this server was not started so that it can do this
)

// inHTTP is a kind of refusal in the words of HTTP and of OpenAI's API.
type inHTTP struct {
	status  int
	ofError string // the type in the body
}

// kinds are the words for each kind. Clients of OpenAI try again after 408, 409, 429 and all
// statuses from 500 on.
var kinds = map[refusal.Kind]inHTTP{
	refusal.KindInternal:        {http.StatusInternalServerError, typeServer},
	refusal.KindInvalid:         {http.StatusBadRequest, typeInvalid},
	refusal.KindTooLong:         {http.StatusBadRequest, TypeTooLong},
	refusal.KindUnauthenticated: {http.StatusUnauthorized, typeAuth},
	refusal.KindForbidden:       {http.StatusForbidden, typeForbid},
	refusal.KindNotFound:        {http.StatusNotFound, typeInvalid},
	refusal.KindWrongMethod:     {http.StatusMethodNotAllowed, typeInvalid},
	refusal.KindNoUpgrade:       {http.StatusUpgradeRequired, typeInvalid},
	refusal.KindLate:            {http.StatusRequestTimeout, typeInvalid},
	refusal.KindConflict:        {http.StatusConflict, typeInvalid},
	refusal.KindInUse:           {http.StatusConflict, typeBusy},
	refusal.KindLost:            {http.StatusGone, typeInvalid},
	refusal.KindTooLarge:        {http.StatusRequestEntityTooLarge, typeInvalid},
	refusal.KindWrongMedia:      {http.StatusUnsupportedMediaType, typeInvalid},
	refusal.KindImpossible:      {http.StatusUnprocessableEntity, typeInvalid},
	refusal.KindPluginFault:     {http.StatusFailedDependency, typeInvalid}, // Claude Code repeats a 400 and a 422, opencode what is the server's
	refusal.KindBusy:            {http.StatusTooManyRequests, typeBusy},
	refusal.KindPluginsBusy:     {http.StatusServiceUnavailable, typeBusy},
	refusal.KindLacking:         {http.StatusNotImplemented, typeLacking},
	refusal.KindUnavailable:     {http.StatusServiceUnavailable, typeUnavailable},
	refusal.KindHubForbids:      {http.StatusForbidden, typeInvalid},
	refusal.KindHubBusy:         {http.StatusTooManyRequests, typeInvalid},
}

// StatusOf is the status of HTTP that a refusal is answered with.
func StatusOf(e *refusal.Error) int { return kinds[e.Kind].status }

// TypeOf is the type of a refusal in OpenAI's shape.
func TypeOf(e *refusal.Error) string { return kinds[e.Kind].ofError }

// passing are the kinds that may not come again where a request is repeated.
var passing = []refusal.Kind{refusal.KindInternal, refusal.KindLate, refusal.KindInUse, refusal.KindBusy, refusal.KindPluginsBusy,
	refusal.KindUnavailable, refusal.KindHubBusy}

// RetryHeader tells the clients of OpenAI and Anthropic, where it is false, not to repeat a request
// that they would repeat for its status.
const RetryHeader = "X-Should-Retry"

// MendedByRepeating reports whether the same request may go well later.
func MendedByRepeating(e *refusal.Error) bool { return slices.Contains(passing, e.Kind) }

// TooLarge refuses a body or a frame of more than limit bytes.
func TooLarge(limit int64) *refusal.Error {
	return &refusal.Error{Kind: refusal.KindTooLarge, Code: "body_too_large", Message: fmt.Sprintf("the request body is larger than %d bytes", limit)}
}
