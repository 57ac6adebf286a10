// SPDX-License-Identifier: MIT

//go:build vulkan

package native

// #cgo LDFLAGS: -lvulkan
import "C"
