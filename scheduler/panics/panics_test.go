// SPDX-License-Identifier: MIT

package panics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler/panics"
)

func TestTry(t *testing.T) {
	failure := errors.New("it failed")
	if err := panics.Try(func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("an error became %v", err)
	}
	err := panics.Try(func() error { panic("boom") })
	var p *panics.Error
	if !errors.As(err, &p) || p.Value != "boom" || !strings.Contains(string(p.Stack), "panics_test.go") || strings.Contains(err.Error(), "panics_test.go") {
		t.Errorf("a panic became %v", err)
	}
	if panics.Recovered(nil) != nil {
		t.Error("no panic is an error")
	}
}
