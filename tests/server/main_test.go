// SPDX-License-Identifier: MIT

// Package server is about the server around the models: its certificate, keys, log, metrics and
// traces, and its addresses.
package server

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
