// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
)

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
