// SPDX-License-Identifier: MIT

package archtest

import (
	"testing"

	"github.com/penstock/penstock/host/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }
