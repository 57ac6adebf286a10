// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/panics"
)

// A panic on one of the backend's goroutines would end the process.
func TestBackend_Panics_AreErrors(t *testing.T) {
	var p *panics.Error
	b := &backend{sequences: sequences{unified: true}, limits: scheduler.Limits{Vocabulary: parallelLogits}}
	if err := b.decode(nil); !errors.As(err, &p) {
		t.Errorf("decode gives %v", err)
	}
	draws := []scheduler.Draw{{Stage: (*Stage)(nil)}, {Row: 1, Stage: (*Stage)(nil)}}
	b.SampleRows(draws)
	for i, d := range draws {
		if !errors.As(d.Err, &p) || d.Token != -1 {
			t.Errorf("draw %d gives token %d, %v", i, d.Token, d.Err)
		}
	}
}
