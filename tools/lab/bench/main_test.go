// SPDX-License-Identifier: MIT

package bench

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the server of TestStart: a child of the test's own binary.
func TestMain(m *testing.M) {
	if behaviour := os.Getenv(childBehaviour); behaviour != "" {
		os.Exit(child(behaviour, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
