// SPDX-License-Identifier: MIT

package models

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// addPair puts a model and its projector into a folder of models, under a name.
func addPair(t *testing.T, folder, name string, pair synth.MediaPair) {
	t.Helper()
	model, projector := must.Both(pair.WriteFiles(t.TempDir(), 1))(t)
	for from, to := range map[string]string{model: name + ".gguf", projector: library.ProjectorName(name)} {
		data := must.Get(os.ReadFile(from))(t)
		must.Do(t, os.WriteFile(filepath.Join(folder, to), data, 0o600))
	}
}

// What models see and hear is told before they are loaded and after, and they take their
// projectors with them when they are unloaded.
func TestModels_TellWhatTheyRead(t *testing.T) {
	folder := t.TempDir()
	addPair(t, folder, "seer", synth.MediaPairs[2])
	addPair(t, folder, "both", synth.MediaPairs[8])
	must.Do(t, synth.SmallFile(filepath.Join(folder, "plain.gguf"), "mamba", 1))
	must.Do(t, os.WriteFile(filepath.Join(folder, library.ProjectorName("plain")), []byte("GGUF of another kind"), 0o600))
	h := hosts.Open(t, map[string]any{"models.dir": folder, "server.admin_key": "secret", "scheduler.slots": "2"})
	hosts.Run(t, h)
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

// askAbout asks a model about a picture and returns the answer's text.
func askAbout(t *testing.T, h *host.Host, model string, picture []byte) string {
	t.Helper()
	status, answer := command(t, h, "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"max_tokens":8,"temperature":0,"messages":[{"role":"user","content":[
		{"type":"text","text":"What is this? "},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}},{"type":"text","text":" Say it."}]}]}`,
		model, base64.StdEncoding.EncodeToString(picture)))
	if status != http.StatusOK {
		t.Errorf("%d: %v", status, answer)
		return ""
	}
	return fmt.Sprint(answer["choices"])
}

// gauge is a metric of a model.
func gauge(t *testing.T, h *host.Host, name, model string) string {
	t.Helper()
	response := must.Get(http.Get(h.URL() + "/metrics"))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	_, rest, _ := strings.Cut(string(text), fmt.Sprintf("\n%s{model_name=%q} ", name, model))
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// The same picture in many requests is encoded once, and a model that was unloaded answers about
// it as before.
func TestModels_PictureOfManyRequests_IsEncodedOnce(t *testing.T) {
	folder := t.TempDir()
	addPair(t, folder, "seer", synth.MediaPairs[2])
	h := hosts.Open(t, map[string]any{"models.dir": folder, "server.admin_key": "secret", "scheduler.slots": "4"})
	hosts.Run(t, h)
	one, other := hosts.StripedPNG(t, 1), hosts.StripedPNG(t, 2)
	want := askAbout(t, h, "seer", one)
	if got := askAbout(t, h, "seer", other); got == want || want == "" {
		t.Errorf("two pictures have the answer %s", got)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got := askAbout(t, h, "seer", one); got != want {
				t.Errorf("beside others: %s, want %s", got, want)
			}
		})
	}
	all.Wait()
	if encoded, kept := gauge(t, h, "penstock_media_encoded_total", "seer"), gauge(t, h, "penstock_media_cache_hits_total", "seer"); encoded != "2" || kept != "10" {
		t.Errorf("%q were encoded, %q found kept", encoded, kept)
	}
	if status, answer := command(t, h, "/models/unload", `{"model":"seer"}`); status != http.StatusOK {
		t.Error(answer)
	}
	if got := askAbout(t, h, "seer", one); got != want {
		t.Errorf("loaded again: %s, want %s", got, want)
	}
	if encoded := gauge(t, h, "penstock_media_encoded_total", "seer"); encoded != "1" {
		t.Errorf("loaded again, %q were encoded", encoded)
	}
}
