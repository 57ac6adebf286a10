// SPDX-License-Identifier: MIT

//go:build cuda

package native

// #cgo LDFLAGS: -L/usr/local/cuda/lib64 -L/usr/local/cuda/lib64/stubs -L/opt/cuda/lib64 -lcudart -lcublas -lcublasLt -lcuda -lrt
import "C"
