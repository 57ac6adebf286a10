// SPDX-License-Identifier: MIT

package programs

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
