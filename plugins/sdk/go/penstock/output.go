// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// ErrOutput means that the host refused a value for the client; the request's log has the reason.
var ErrOutput = errors.New("the host did not take the value: there is no answer at work, or it is too large, or there are too many")

// ErrNoOutput means that the host is too old to send values to clients.
var ErrNoOutput = errors.New("this host has no output to clients")

// ErrNote means that the host refused a note; the request's log has the reason.
var ErrNote = errors.New("the host did not take the note: no token is decided, or it is too long, or there are too many")

// Note attaches a short text to one token, for its trace: in Prepare, Sample and SampleRow to the
// token that is about to be chosen, in Accept to the accepted one. It is shown to clients that ask
// for traces, in the page's inspector and in recordings. A note has at most 256 bytes, and a token
// at most 8. On a host without this function it does nothing.
func Note(text string) error {
	if Feature("note") && abi.Note(unsafe.Pointer(unsafe.StringData(text)), int32(len(text))) != abi.NoteOk {
		return ErrNote
	}
	return nil
}

// Output gives the client a value in addition to the answer's text: anything that json.Append can
// write. The client gets it with the plugin's name and the number of tokens that the answer has. It
// is refused in Close, which is called after the answer has been sent.
func Output(value any) error {
	if !Feature("output") {
		return ErrNoOutput
	}
	text, err := json.Append(nil, value)
	if err != nil {
		return err
	}
	if abi.Output(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text))) != abi.OutputOk {
		return ErrOutput
	}
	return nil
}

// Level is the severity of a log line.
type Level int32

// The levels.
const (
	Debug Level = abi.LogDebug
	Info  Level = abi.LogInfo
	Warn  Level = abi.LogWarn
	Error Level = abi.LogError
)

// Log writes a line to the request's log. The last lines are attached to the error if the plugin
// fails.
func Log(l Level, line string) {
	abi.Log(int32(l), unsafe.Pointer(unsafe.StringData(line)), int32(len(line)))
}
