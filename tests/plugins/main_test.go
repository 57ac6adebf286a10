// SPDX-License-Identifier: MIT

// Package plugins is about plugins in a whole host: how they are managed and shared, what they do
// to answers, and how their work is recorded.
package plugins

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
