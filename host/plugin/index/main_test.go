// SPDX-License-Identifier: MIT

package index_test

import (
	"os"
	"testing"

	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/spawn"
)

func TestMain(m *testing.M) {
	spawn.Run(compile.Child())
	os.Exit(m.Run())
}
