// SPDX-License-Identifier: MIT

// Package models is about the models of a host and what belongs to them: adapters, drafts, saved
// conversations, workers, what they see and hear.
package models

import (
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestMain(m *testing.M) { hosts.Main(m) }
