// SPDX-License-Identifier: MIT

// Package isolation is about what nobody may do to others: hostile clients, hostile guests and
// large work hold nobody up and break nothing.
package isolation

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
