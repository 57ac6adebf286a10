// SPDX-License-Identifier: MIT

// Package archs compares a model of each architecture of llama.cpp with llama-server, in each
// situation that serving knows.
//
// # Why do the architecture tests have weights of deviation 0.3, and tolerances of their own?
//
// With the 0.1 of llama.cpp's own tests the logits hardly depend on what stands before a token:
// other words change log-probabilities by 0.001, a tenth of what the old test allowed. Such a
// test sees no wrong cell. With 0.3, other words at the beginning of a prompt change them by 0.01
// to 1, while rounding changes them by 0.000001 to 0.0004 (0.03 with ggml's flash attention,
// whose sums have 11 bits on a CPU). The tolerance lies in between, and is at most a third of
// what other words do to this model. One wrong token in a shared prefix then shows.
package archs

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
