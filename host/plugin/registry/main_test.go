// SPDX-License-Identifier: MIT

package registry

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/spawn"
)

func TestMain(m *testing.M) {
	spawn.Run(compile.Child())
	goleak.VerifyTestMain(m)
}
