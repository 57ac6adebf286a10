// SPDX-License-Identifier: MIT

package hub

import "errors"

// What can go wrong with a download. The texts around them say what to do.
var (
	// ErrReference: the text names no repository, file or URL.
	ErrReference = errors.New("not the name of a model on a hub")
	// ErrNotFound: there is no such repository, revision or file.
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized: the hub wants a token, or another one.
	ErrUnauthorized = errors.New("no access")
	// ErrRateLimited: the hub refuses more requests for now.
	ErrRateLimited = errors.New("too many requests")
	// ErrServer: the server cannot be reached, fails or does not keep to HTTP.
	ErrServer = errors.New("the server fails")
	// ErrHash: the bytes are not those that the hub, or the user, names.
	ErrHash = errors.New("wrong SHA-256")
	// ErrNotModel: the bytes are no model.
	ErrNotModel = errors.New("what was downloaded is no model")
	// ErrSpace: the disk has not enough room.
	ErrSpace = errors.New("not enough disk space")
	// ErrBusy: another process is pulling the same file.
	ErrBusy = errors.New("already being pulled")
	// ErrTaken: the folder has another file of this name.
	ErrTaken = errors.New("the name is taken")
)
