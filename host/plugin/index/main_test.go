// SPDX-License-Identifier: MIT

package index_test

import (
	"os"
	"testing"

	"github.com/penstock/penstock/host/childtest"
	"github.com/penstock/penstock/host/plugin/compile"
)

func TestMain(m *testing.M) {
	childtest.Run(compile.Child())
	os.Exit(m.Run())
}
