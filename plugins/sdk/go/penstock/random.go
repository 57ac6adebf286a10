// SPDX-License-Identifier: MIT

package penstock

import "github.com/penstock/penstock/plugins/sdk/go/internal/abi"

// Random returns 64 random bits that depend on the request's seed, the plugin's place in the chain,
// the position in the conversation and the number of earlier calls there. A replay draws the same.
func Random() uint64 { return uint64(abi.Random()) }

// Uniform draws from the multiples of 2⁻²⁴ in [0, 1).
func Uniform() float32 { return float32(Random()>>40) * (1.0 / (1 << 24)) }
