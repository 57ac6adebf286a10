// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
)

// Register names the plugin. open, which may be nil, begins a request: it reads Config, makes buffers such as a Mask, and
// sets the plugin's fields. An error refuses the request, and the client reads its text.
//
// Under go test one process opens many requests one after another, so open must set every field that a request changes.
func Register(m Manifest, open func() error) {
	manifest = m
	guest.Describe = func() { emit(m.json()) }
	guest.Open = func() int32 {
		for _, bind := range guest.Bind {
			if err := bind(); err != nil {
				return Refuse(err)
			}
		}
		if open == nil {
			return 0
		}
		return Refuse(open())
	}
}

var manifest Manifest

// Registered is the manifest that was registered.
func Registered() Manifest { return manifest }

// Refuse tells the host the text of an error and returns the answer that means it; 0 without an error. The packages of the
// extension points need it, a plugin returns errors instead.
func Refuse(err error) int32 {
	if err == nil {
		return 0
	}
	text := []byte(err.Error())
	abi.Fail(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text)))
	return 1
}

func emit(text []byte) { abi.Emit(unsafe.Pointer(unsafe.SliceData(text)), int32(len(text))) }

//go:wasmexport penstock_abi_v1
func version() {}

//go:wasmexport penstock_describe
func describe() { guest.Describe() }

//go:wasmexport penstock_open
func open() int32 { return guest.Open() }
