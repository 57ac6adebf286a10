// SPDX-License-Identifier: MIT

// Package completion carries out requests for text: it finds their model, makes their prompts and sampler chains, and reads their
// answers. It knows no dialect: the packages below host/api turn what clients send into a [Request], and its answer into what they expect.
package completion
