// SPDX-License-Identifier: MIT

package library

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
)

// LoRA adapters and control vectors lie in the folder, too, and are found there by name, but are
// no models.
func TestLibrary_Adapters_AreNoModels(t *testing.T) {
	l := folder(t, "broken.gguf")
	add(t, l, "model.gguf")
	for name, write := range map[string]func(io.Writer) error{
		"lora.gguf":   synth.Adapter{Model: builtIn}.Write,
		"vector.gguf": func(w io.Writer) error { return synth.ControlVector(w, builtIn, 1, 0.1) },
	} {
		file := must.Get(os.Create(filepath.Join(l.Folder, name)))(t)
		must.Do(t, errors.Join(write(file), file.Close()))
	}
	if diff := cmp.Diff([]string{"broken", "model"}, l.Names()); diff != "" {
		t.Error(diff)
	}
	models, unreadable := l.Models()
	if len(models) != 1 || models[0].Name != "model" || len(unreadable) != 1 || unreadable[0].Name != "broken" {
		t.Errorf("models %v, unreadable %v", models, unreadable)
	}
	if Find(l.Folder, "lora") == "" {
		t.Error("an adapter is not found by its name")
	}
}
