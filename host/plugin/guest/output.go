// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/abi"
)

// Output is a value that a guest gave for the client.
type Output struct {
	Tokens int             // that the answer had then
	Value  json.RawMessage // compact JSON
}

// outputs are what a guest gave in a session. They and their limits outlive an instance, as the
// session does.
type outputs struct {
	Replaying bool // a fresh instance is told what the one before knew: what it gives, the client has

	given        []Output
	count, bytes int // of all that were ever given
}

// TakeOutputs returns what the guest has given since the last call.
func (o *outputs) TakeOutputs() []Output {
	given := o.given
	o.given = nil
	return given
}

// givesOutput tells in which exports a guest may give values: those of a request whose answer is
// not over.
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
	if depth(value) > abi.LimitSchemaDepth {
		return nil, fmt.Errorf("the value is nested more than %d levels deep", abi.LimitSchemaDepth)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	return b.Bytes(), nil
}

// depth is how deep a JSON value is nested. For invalid JSON the result is arbitrary.
func depth(value []byte) int {
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
