// SPDX-License-Identifier: MIT

package penstock

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// ErrOutput means that the host refused a value for the client; the operator's log has the reason.
var ErrOutput = errors.New("the host did not take the value: there is no answer at work, or it is too large, or there are too many")

// ErrNoOutput means that the host is too old to send values to clients.
var ErrNoOutput = errors.New("this host has no output to clients")

// Output gives the client a value in addition to the answer's text: anything that json.Append can
// write. The client gets it with the plugin's name and the number of tokens that the answer has.
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
