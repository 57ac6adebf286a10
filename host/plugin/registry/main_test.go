// SPDX-License-Identifier: MIT

package registry

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/host/childtest"
	"github.com/penstock/penstock/host/plugin/compile"
)

func TestMain(m *testing.M) {
	childtest.Run(compile.Child())
	goleak.VerifyTestMain(m)
}
