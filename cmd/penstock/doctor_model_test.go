// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
)

func TestDoctor_Projector(t *testing.T) {
	folder := t.TempDir()
	model, projector, err := synth.MediaPairs[2].WriteFiles(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, another, err := synth.MediaPairs[5].WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{nil, []string{"ok    media", "pictures with " + projector + " (mlp)"}},
		{[]string{"--no-mmproj"}, []string{"ok    media", "text only"}},
		{[]string{"-mm", another}, []string{"fail  model", another, "→ leave out --mmproj"}},
	} {
		got := penstock(t, "", append([]string{"doctor", "-m", model, "-c", "512", "--listen", "127.0.0.1:0"}, c.args...)...)
		for _, want := range c.says {
			if !strings.Contains(got.out, want) {
				t.Errorf("%v: no %q in\n%s%s", c.args, want, got.out, got.err)
			}
		}
	}
}
