// SPDX-License-Identifier: MIT

package model

import "errors"

// What can be wrong with a model. Damaged files give the errors of package native/gguf.
var (
	// ErrNotFound: there is no such file or name.
	ErrNotFound = errors.New("no such model")
	// ErrNotFile: the path leads to a folder or a device.
	ErrNotFile = errors.New("not a file")
	// ErrTooLarge: the weights alone need more memory than there is.
	ErrTooLarge = errors.New("the model is too large for this machine")
	// ErrUnknownArchitecture: llama.cpp has no code for this kind of model.
	ErrUnknownArchitecture = errors.New("llama.cpp does not know the model's architecture")
	// ErrRefused: llama.cpp refuses the file; the text is its reason.
	ErrRefused = errors.New("llama.cpp refuses the model")
	// ErrCrashed: llama.cpp ended the process that tried the file; the text is the last it said.
	ErrCrashed = errors.New("llama.cpp crashes on the model")
	// ErrGPU: what asked for the GPUs, or computed on one, did not come back.
	ErrGPU = errors.New("a GPU or its driver ends the process")
	// ErrTemplate: the chat template cannot be parsed, ends the process, or takes far too long.
	ErrTemplate = errors.New("the model's chat template cannot be used")
	// ErrTimeout: the trial did not end in time.
	ErrTimeout = errors.New("trying the model took too long")
	// ErrNoChild: this program does not have the command of Child.
	ErrNoChild = errors.New("this program cannot try models")
)
