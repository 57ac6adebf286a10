// SPDX-License-Identifier: MIT

// Package stop is the extension point that sees the text and ends the answer.
package stop

import (
	"errors"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Answer says what is to become of the text so far.
type Answer int32

// The answers; EndAfter gives more.
const (
	Show Answer = abi.StopShow // go on; all text so far may be shown
	End  Answer = abi.StopEnd  // end, and show it
	Hide Answer = abi.StopHide // end, and show nothing since the last Show
	Hold Answer = abi.StopHold // go on; hold back what came since the last Show. More than 4 KiB held is an error
)

// EndAfter ends the answer and shows only the first n bytes since the last Show. They must be whole characters.
func EndAfter(n int) Answer { return Answer(-n - 1) }

// Rule decides when an answer is complete.
type Rule interface {
	// Stop gets each token with the text that is new: whole characters, each once, perhaps none. A long text comes in
	// several calls. It must not be kept.
	Stop(t penstock.Token, text []byte) Answer
}

// room is the size of the text buffer, in bytes.
const room = 4096

var (
	rule Rule
	text []uint32 // words, since the buffer must be aligned
)

// Register makes r the plugin's stop rule.
func Register(r Rule) {
	rule = r
	guest.Stop = call
	guest.Bind = append(guest.Bind, bind)
}

func call(token, size int32) int32 {
	return int32(rule.Stop(token, unsafe.Slice((*byte)(unsafe.Pointer(&text[0])), room)[:size]))
}

var errText = errors.New("the host refused the buffer of the stop rule's text")

func bind() error {
	text = make([]uint32, room/4)
	if abi.Bind(abi.BufferText, unsafe.Pointer(&text[0]), room) != abi.BindOk {
		return errText
	}
	return nil
}

//go:wasmexport penstock_stop
func export(token, size int32) int32 { return guest.Stop(token, size) }
