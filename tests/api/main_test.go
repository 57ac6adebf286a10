// SPDX-License-Identifier: MIT

// Package api is about what clients are answered over HTTP and the WebSocket, and about what
// docs/openapi.yaml says of that.
package api

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
