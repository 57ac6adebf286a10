// SPDX-License-Identifier: MIT

package completion

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Error is a refusal. Each dialect writes it in its own shape.
type Error struct {
	Status  int            // of HTTP
	Code    string         // what is wrong, in a word
	Message string         // for the client
	Public  string         // what anybody may read of it, in the log too; "": the message
	Type    string         // the kind of refusal
	Param   string         // the field at fault; "": none
	Retry   int            // seconds after which to try again; 0: not said
	Numbers map[string]int // what else a client may want to know, by name
}

// Error is what anybody may read: the message, unless that is for the client alone.
func (e *Error) Error() string { return cmp.Or(e.Public, e.Message) }

// The types of an Error, which are OpenAI's.
const (
	TypeInvalid     = "invalid_request_error"
	TypeAuth        = "authentication_error"
	TypeForbid      = "permission_error"
	TypeBusy        = "rate_limit_error"
	TypeServer      = "server_error"
	TypeUnavailable = "unavailable_error"
	TypeTooLong     = "exceed_context_size_error" // llama-server's
	TypeLacking     = "not_supported_error"       // likewise: this server was not started so that it can do this
)

// Invalid refuses the value of a field.
func Invalid(param, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_value", Type: TypeInvalid, Param: param,
		Message: fmt.Sprintf(format, args...)}
}

// Unsupported refuses a field that this server does not act on, rather than ignore it.
func Unsupported(param, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "unsupported", Type: TypeInvalid, Param: param,
		Message: fmt.Sprintf(format, args...)}
}

// ErrGone ends a request whose client has left: nobody reads an answer.
var ErrGone = errors.New("the client has gone")

// ShuttingDown refuses a request because the server is about to end.
func ShuttingDown() *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: "shutting_down", Type: TypeUnavailable, Retry: 5, Message: "the server is shutting down"}
}

// timedOut ends a request that did not come to its end within its timeout_ms. The status is one that clients do not answer by
// trying again, as OpenAI's do with 408, 409, 429 and all from 500 on: the same request would take as long again.
func timedOut(message string) *Error {
	return &Error{Status: http.StatusUnprocessableEntity, Code: "timeout", Type: TypeInvalid, Param: "timeout_ms", Message: message}
}

// AsError turns any error into an Error. prompt names the field the prompt came from.
func AsError(err error, prompt string) *Error {
	var own *Error
	var badParam *sampling.Invalid
	var badMessage *chat.Invalid
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &badParam):
		return Invalid(badParam.Field, "%v", badParam)
	case errors.As(err, &badMessage):
		return Invalid(badMessage.Field, "%v", badMessage)
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Type: TypeInvalid,
			Message: fmt.Sprintf("the request body is larger than %d bytes", tooLarge.Limit)}
	}
	if e := pluginError(err); e != nil {
		return e
	}
	if e := embeddingError(err, prompt); e != nil {
		return e
	}
	return schedulerError(err, prompt)
}

// pluginError tells what a plugin's refusal or fault means for a client.
func pluginError(err error) *Error {
	var refusal interface {
		error
		Told() string
		Param() string
	}
	var fault interface {
		error
		Told() string
		Kind() string
	}
	switch {
	case errors.As(err, &refusal):
		return &Error{Status: http.StatusBadRequest, Code: "plugin_refused", Type: TypeInvalid, Param: refusal.Param(), Message: refusal.Told(),
			Public: refusal.Error()}
	case errors.As(err, &fault) && slices.Contains([]string{"busy", "budget"}, fault.Kind()):
		return &Error{Status: http.StatusServiceUnavailable, Code: "plugins_busy", Type: TypeBusy, Retry: 1, Message: fault.Told(), Public: fault.Error()}
	case errors.As(err, &fault):
		return &Error{Status: http.StatusUnprocessableEntity, Code: "plugin_fault", Type: TypeServer, Param: "plugins", Message: fault.Told(), Public: fault.Error()}
	}
	return nil
}

func schedulerError(err error, prompt string) *Error {
	var long *scheduler.PromptTooLong
	switch {
	case errors.Is(err, scheduler.ErrQueueFull):
		return &Error{Status: http.StatusTooManyRequests, Code: "queue_full", Type: TypeBusy, Retry: 1,
			Message: "too many requests are waiting; try again in a moment"}
	case errors.As(err, &long):
		return TooLong(prompt, long.Tokens, long.Context)
	case errors.Is(err, scheduler.ErrEmptyPrompt), errors.Is(err, scheduler.ErrBadRequest):
		return Invalid(prompt, "%v", err)
	case errors.Is(err, scheduler.ErrClosed):
		return ShuttingDown()
	case errors.Is(err, scheduler.ErrLost):
		return &Error{Status: http.StatusServiceUnavailable, Code: "worker_lost", Type: TypeUnavailable, Retry: 5, Message: err.Error()}
	case errors.Is(err, scheduler.ErrDeadline):
		return timedOut(err.Error())
	case errors.Is(err, chain.ErrNoToken), errors.Is(err, chain.ErrNotAllowed):
		return &Error{Status: http.StatusUnprocessableEntity, Code: "unsatisfiable", Type: TypeInvalid,
			Message: "the answer cannot go on with what the request demands of it: " + err.Error()}
	}
	return &Error{Status: http.StatusInternalServerError, Code: "internal_error", Type: TypeServer, Message: err.Error()}
}
