// SPDX-License-Identifier: MIT

package models

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// slotHost is a host that saves the conversations of slots.
type slotHost struct {
	*host.Host
	t *testing.T
}

func openSlots(t *testing.T, dir string, change map[string]any) slotHost {
	all := map[string]any{"scheduler.slot_save_path": dir, "scheduler.slots": 2}
	for key, value := range change {
		all[key] = value
	}
	h := hosts.Open(t, all)
	hosts.Run(t, h)
	return slotHost{h, t}
}

// act does an action with a slot and returns its answer; a status other than want is an error.
func (h slotHost) act(want int, slot, action, body string) map[string]any {
	h.t.Helper()
	return h.ask(want, "/slots/"+slot+"?action="+action, body)
}

func (h slotHost) ask(want int, path, body string) map[string]any {
	h.t.Helper()
	status, text := hosts.Post(h.t, h.URL()+path, body)
	if status != want {
		h.t.Errorf("%s %s: %d %s", path, body, status, text)
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		h.t.Errorf("%s: %v in %s", path, err, text)
	}
	return answer
}

// complete gives the greedy answer to a prompt, and how many of its tokens were found.
func (h slotHost) complete(prompt string) (text string, cached float64) {
	h.t.Helper()
	a := h.ask(200, "/completion", fmt.Sprintf(`{"prompt":%q,"n_predict":20,"temperature":0,"id_slot":0}`, prompt))
	timings, _ := a["timings"].(map[string]any)
	cached, _ = timings["cache_n"].(float64)
	return fmt.Sprint(a["content"]), cached
}

const tale = "Once upon a time there was a little girl who lived in a village near the forest. Every day"

// A conversation outlives the server: another one computes only what is new, and answers the same.
func TestHost_Slots_SaveEraseRestore(t *testing.T) {
	dir := t.TempDir()
	h := openSlots(t, dir, nil)
	first, _ := h.complete(tale)
	next := tale + first + " And then"
	saved := h.act(200, "0", "save", `{"filename":"tale.bin"}`)
	n, _ := saved["n_saved"].(float64)
	if stat, err := os.Stat(filepath.Join(dir, "tale.bin")); err != nil || float64(stat.Size()) != saved["n_written"] || n < 20 {
		t.Errorf("saved: %v, %v", saved, err)
	}
	if erased := h.act(200, "0", "erase", ``); erased["n_erased"] != n {
		t.Errorf("erased: %v, saved %v", erased, n)
	}
	want, cached := h.complete(next)
	if cached > 0 {
		t.Errorf("%v tokens found after erasing", cached)
	}
	h.act(200, "0", "erase", ``)
	other := openSlots(t, dir, nil)
	for _, h := range []slotHost{h, other} {
		restored := h.act(200, "1", "restore", `{"filename":"tale.bin"}`)
		if restored["n_restored"] != n || restored["n_read"] != saved["n_written"] || restored["filename"] != "tale.bin" || restored["id_slot"] != 1.0 {
			t.Errorf("restored: %v", restored)
		}
		got, cached := h.complete(next)
		if got != want || cached < n-1 {
			t.Errorf("%q with %v of %v tokens found, want %q", got, cached, n, want)
		}
	}
}

// Whatever a request or a file says, the answer is a 4xx, and the server goes on.
func TestHost_Slots_BadNamesAndFiles(t *testing.T) {
	dir := t.TempDir()
	h := openSlots(t, dir, nil)
	want, _ := h.complete(tale)
	h.act(200, "0", "save", `{"filename":"tale.bin"}`)
	whole := must.Get(os.ReadFile(filepath.Join(dir, "tale.bin")))(t)
	damaged := strings.Replace(string(whole), string(whole[len(whole)/2:len(whole)/2+8]), "damaged!", 1)
	for name, content := range map[string]string{"damaged": damaged, "short": string(whole[:len(whole)-100]), "empty": "", "llama": string(whole[:len(whole)-400])} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		h.act(400, "0", "restore", fmt.Sprintf(`{"filename":%q}`, name))
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	for _, name := range []string{"", ".", "..", "../tale.bin", "a/b", "/etc/passwd", `a\\b`, "a\\u0000b", "absent", "folder", "link"} {
		h.act(400, "0", "restore", `{"filename":"`+name+`"}`)
	}
	for _, body := range []string{``, `{}`, `{"filename":3}`, `{"filename":null}`, `[]`, `{"filename":"../x"}`, `{"filename":"x/y"}`} {
		h.act(400, "0", "save", body)
		h.act(400, "0", "restore", body)
	}
	for _, slot := range []string{"2", "-1", "x", "1e3", "99999999999999999999"} {
		h.act(400, slot, "erase", ``)
	}
	h.act(400, "0", "", ``)
	h.act(400, "0", "forget", ``)
	h.act(400, "1", "save", `{"filename":"nothing"}`)
	if got, _ := h.complete(tale); got != want {
		t.Errorf("afterwards %q, want %q", got, want)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 7 {
		t.Errorf("files: %v, %v", files, err)
	}
}

// Saving replaces saved conversations only, also damaged ones, whatever else lies in the folder.
func TestHost_Slots_ReplaceNothingElse(t *testing.T) {
	dir := t.TempDir()
	h := openSlots(t, dir, nil)
	h.complete(tale)
	foreign := map[string]string{"p.yaml": "server: {}\n", "empty": "", "abc": "abc"}
	for name, content := range foreign {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		h.act(409, "0", "save", fmt.Sprintf(`{"filename":%q}`, name))
		if left, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(left) != content {
			t.Errorf("%s is %q, %v", name, left, err)
		}
	}
	h.act(200, "0", "save", `{"filename":"tale.bin"}`)
	must.Do(t, os.Truncate(filepath.Join(dir, "tale.bin"), 100))
	h.act(200, "0", "save", `{"filename":"tale.bin"}`)
	h.act(200, "0", "restore", `{"filename":"tale.bin"}`)
}

// A file of another model is refused, also if that has the same shape.
func TestHost_Slots_OfAnotherModel(t *testing.T) {
	dir := t.TempDir()
	h := openSlots(t, dir, nil)
	h.complete(tale)
	h.act(200, "0", "save", `{"filename":"tale.bin"}`)
	path := hosts.Written(t, "vector.gguf", func(w io.Writer) error { return synth.ControlVector(w, hosts.BuiltIn, 1, 0.5) })
	other := openSlots(t, dir, map[string]any{"model.control_vector": []string{path}})
	if refused := fmt.Sprint(other.act(400, "0", "restore", `{"filename":"tale.bin"}`)); !strings.Contains(refused, "another model") {
		t.Error(refused)
	}
}

// Where keys do not share what is cached, a file is for the key that has saved it. Another key
// finds out nothing from it, by its name or by its contents, and does not replace it.
func TestHost_Slots_OfAnotherKey(t *testing.T) {
	dir := t.TempDir()
	h := openSlots(t, dir, map[string]any{"server.api_keys": "first,second"})
	as := func(key string, want int, path, body string) string {
		t.Helper()
		status, _, text := hosts.Send(t, http.DefaultClient, hosts.NewRequest(t, http.MethodPost, h.URL()+path, []byte(body), "Authorization", "Bearer "+key))
		if status != want {
			t.Errorf("%s, %s %s: %d %s", key, path, body, status, text)
		}
		return text
	}
	complete := fmt.Sprintf(`{"prompt":%q,"n_predict":8,"temperature":0,"id_slot":0}`, tale)
	const save, restore, file = "/slots/0?action=save", "/slots/0?action=restore", `{"filename":"tale.bin"}`
	as("first", 200, "/completion", complete)
	as("first", 200, save, file)
	before := must.Get(os.Stat(filepath.Join(dir, "tale.bin")))(t)
	as("second", 200, "/completion", complete)
	for _, path := range []string{save, restore} {
		if refused := as("second", 400, path, file); !strings.Contains(refused, "another API key") || !strings.Contains(refused, `"param":"filename"`) {
			t.Errorf("%s: %s", path, refused)
		}
	}
	if after, err := os.Stat(filepath.Join(dir, "tale.bin")); err != nil || !os.SameFile(before, after) {
		t.Errorf("another key has replaced the file: %v", err)
	}
	as("second", 200, save, `{"filename":"other.bin"}`)
	as("second", 200, restore, `{"filename":"other.bin"}`)
	as("first", 200, restore, file)
	shared := openSlots(t, dir, nil) // asks for no keys, so that nothing says whose the caller is
	shared.act(400, "0", "restore", file)
	shared.complete(tale)
	shared.act(200, "0", "save", `{"filename":"open.bin"}`)
	as("second", 200, restore, `{"filename":"open.bin"}`)
}
