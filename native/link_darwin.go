// SPDX-License-Identifier: MIT

package native

// #cgo LDFLAGS: -lc++ -framework Foundation -framework Metal -framework MetalKit -framework Accelerate
import "C"
