// SPDX-License-Identifier: MIT

// Package programs is about programs, which are plugins that own a request: what they write, over
// each API, and the bounds that they have.
package programs

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
