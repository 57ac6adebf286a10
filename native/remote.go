// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"runtime"
)

// Remote is devices of another machine that ggml's RPC backend computes with.
type Remote struct{ endpoint C.int32_t }

// OpenRemote makes the devices of ggml's server at the other end of a socket known by names, in
// its order. ModelOptions may name them until Close. ggml ends this process if the server does not
// answer: package host/remote keeps that from happening.
func OpenRemote(socket uintptr, names []string) (*Remote, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	list, err := cNames(&pin, names)
	if err != nil {
		return nil, err
	}
	var e C.ps_error
	r := &Remote{}
	if err := failure(C.ps_remote_open(C.int32_t(socket), list, C.size_t(len(names)), &r.endpoint, &e), &e); err != nil {
		return nil, err
	}
	return r, nil
}

// Close forgets the devices. Models that use them must be closed before. The socket stays open.
func (r *Remote) Close() { C.ps_remote_close(r.endpoint) }

// ServeDevices computes with devices of this machine what ggml's client at the other end of a
// socket asks for, until it closes that. Weights that were sent once are kept in the folder cache,
// if it is named. ggml ends the process on a request that it does not understand, so it is for a
// process of its own.
func ServeDevices(socket uintptr, names []string, threads int, cache string) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	list, err := cNames(&pin, names)
	if err != nil {
		return err
	}
	folder := C.CString(cache)
	defer freeString(folder)
	var e C.ps_error
	return failure(C.ps_serve_devices(C.int32_t(socket), list, C.size_t(len(names)), C.size_t(threads), folder, &e), &e)
}

// cNames makes names into C's, which the pinner keeps in place.
func cNames(pin *runtime.Pinner, names []string) (**C.char, error) {
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no device is named", ErrInvalid)
	}
	s := texts{pin: pin}
	list := make([]*C.char, len(names))
	for i, name := range names {
		list[i] = s.text(name)
	}
	pin.Pin(&list[0])
	return &list[0], s.err
}
