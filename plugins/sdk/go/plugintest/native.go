// SPDX-License-Identifier: MIT

package plugintest

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// ErrExport means that the plugin has no such export.
var ErrExport = errors.New("no such export")

// Native is the plugin that this test program registers. There is one at a time.
func Native(h *Host) (Guest, error) { return native{abi.Use(h.Imports())}, nil }

type native struct{ before abi.Host }

func (native) function(export string) func(...int32) int32 {
	without := func(f func() int32) func(...int32) int32 {
		if f == nil {
			return nil
		}
		return func(...int32) int32 { return f() }
	}
	with := func(f func(int32) int32) func(...int32) int32 {
		if f == nil {
			return nil
		}
		return func(args ...int32) int32 { return f(args[0]) }
	}
	switch export {
	case "penstock_describe":
		return func(...int32) int32 { guest.Describe(); return 0 }
	case "penstock_open":
		return without(guest.Open)
	case "penstock_warm":
		return without(guest.Warm)
	case "penstock_template":
		return without(guest.Template)
	case "penstock_prepare":
		return without(guest.Prepare)
	case "penstock_sample":
		return with(guest.Sample)
	case "penstock_accept":
		return with(guest.Accept)
	case "penstock_rewind":
		return with(guest.Rewind)
	case "penstock_stop":
		if guest.Stop != nil {
			return func(args ...int32) int32 { return guest.Stop(args[0], args[1]) }
		}
	}
	return nil
}

// Has implements Guest.
func (n native) Has(export string) bool { return n.function(export) != nil }

// Call implements Guest.
func (n native) Call(export string, args ...int32) (int32, error) {
	f := n.function(export)
	if f == nil {
		return 0, fmt.Errorf("%w: %s", ErrExport, export)
	}
	return f(args...), nil
}

// Close implements Guest.
func (n native) Close() error {
	abi.Use(n.before)
	return nil
}
