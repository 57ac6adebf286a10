// SPDX-License-Identifier: MIT

package archs

import (
	"testing"

	"github.com/penstock/penstock/tests/peer"
)

func TestMain(m *testing.M) { peer.Main(m) }
