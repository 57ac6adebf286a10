// SPDX-License-Identifier: MIT

package archs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/tools/must"
)

// A hybrid model of which llama.cpp keeps earlier states is served with drafts, and a recurrent
// one without.
func TestServe_Drafts(t *testing.T) {
	paths := synthesize(t, "lfm2-dense", "mamba2-dense")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, path := range paths {
		file := must.Get(model.Open(t.Context(), withBytes(t, path), model.CheckOptions{}))(t)
		s := must.Get(serve(t, file.Path, "shared", file.Lacks))(t)
		want := strings.HasPrefix(filepath.Base(path), "lfm2")
		if l := s.Engine.Backend().Limits(); l.Drafts != want || s.Model.Compute.Drafter != "" != want {
			t.Errorf("%s: %+v, the drafter is %q", filepath.Base(path), l, s.Model.Compute.Drafter)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}
