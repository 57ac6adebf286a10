// SPDX-License-Identifier: MIT

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is true of a model's settings does not depend on a folder that has gone since.
func TestForModel_FolderIsGone_IsTheSame(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "page")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Sources{File: os.DevNull, Flags: map[string]any{"server.ui_dir": folder, "model.path": "main.gguf", "model.lora": "main-lora.gguf"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if m := c.ForModel("other").Model; m.Path != "other" || len(m.Lora) > 0 {
		t.Errorf("the other model is %q with %v", m.Path, m.Lora)
	}
}

// A wrong value is told once, and blames no other.
func TestLoad_WrongValue_IsToldOnce(t *testing.T) {
	for _, flags := range []map[string]any{{"scheduler.batch_size": "256", "scheduler.ubatch_size": "0"}, {"scheduler.batch_size": "0", "scheduler.ubatch_size": "4096"}} {
		_, err := Load(Sources{File: os.DevNull, Flags: flags})
		if err == nil || strings.Count(err.Error(), ErrWrongValue.Error()) != 1 {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
