// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native/gguf/synth"
)

// addPair puts a model and its projector into a folder of models, under a name.
func addPair(t *testing.T, folder, name string, pair synth.MediaPair) {
	t.Helper()
	model, projector, err := pair.WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{model: name + ".gguf", projector: library.ProjectorName(name)} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What models see and hear is told before they are loaded and after, and they take their projectors with them when they are unloaded.
func TestModels_TellWhatTheyRead(t *testing.T) {
	folder := t.TempDir()
	addPair(t, folder, "seer", synth.MediaPairs[2])
	addPair(t, folder, "both", synth.MediaPairs[8])
	if err := synth.SmallFile(filepath.Join(folder, "plain.gguf"), "mamba", 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, library.ProjectorName("plain")), []byte("GGUF of another kind"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, map[string]any{"models.dir": folder, "server.admin_key": "secret", "scheduler.slots": "2"})
	run(t, h)
	want := map[string][]string{"seer": {"text", "image"}, "both": {"text", "image", "audio"}, "plain": {"text"}}
	for _, state := range []string{"unloaded", "loaded", "unloaded"} {
		if state == "loaded" {
			for name := range want {
				if status, _, text := sayOf(t, h, name); status != http.StatusOK {
					t.Fatalf("%s: %d, %s", name, status, text)
				}
			}
		}
		for name, reads := range want {
			says := lookUp(t, h, "/v1/models/"+name)
			if list := fmt.Sprintf("input_modalities:[%s]", strings.Join(reads, " ")); !strings.Contains(says, list) || !strings.Contains(says, "value:"+state) {
				t.Errorf("%s, which is to be %s, lacks %s: %s", name, state, list, says)
			}
			_, shown := command(t, h, "/api/show", fmt.Sprintf(`{"model":%q}`, name))
			sees := slices.Contains(reads, "image")
			if got := strings.Contains(fmt.Sprint(shown["capabilities"]), "vision"); got != sees || (shown["projector_info"] != nil) != sees {
				t.Errorf("%s: %v, %v", name, shown["capabilities"], shown["projector_info"])
			}
			if state != "loaded" {
				continue
			}
			modalities := fmt.Sprintf("modalities:map[audio:%t video:false vision:%t]", slices.Contains(reads, "audio"), sees)
			if props := lookUp(t, h, "/props?model="+name); !strings.Contains(props, modalities) {
				t.Errorf("%s: no %s in %s", name, modalities, props)
			}
			if status, answer := command(t, h, "/models/unload", fmt.Sprintf(`{"model":%q}`, name)); status != http.StatusOK {
				t.Errorf("%s: %v", name, answer)
			}
		}
	}
}
