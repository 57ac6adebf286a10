// SPDX-License-Identifier: MIT

// Package examples tests the example plugins under the real runtime. They come from build/plugins,
// where `make plugins` puts them.
package examples
