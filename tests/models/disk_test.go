// SPDX-License-Identifier: MIT

package models

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// diskServer is a host with conversations on the disk, which the test restarts.
type diskServer struct {
	*host.Host
	t    *testing.T
	stop func()
}

func openDisk(t *testing.T, dir string, change map[string]any) diskServer {
	t.Helper()
	all := map[string]any{"server.cache_disk": "1GiB", "server.cache_disk_dir": dir, "scheduler.slots": 1, "model.ctx_size": 4096}
	maps.Copy(all, change)
	h := hosts.Open(t, all)
	stop := hosts.Run(t, h)
	return diskServer{h, t, stop}
}

// complete gives the greedy answer to a prompt of tokens, and how many of them were found.
func (s diskServer) complete(prompt []int, key string) (text string, cached int) {
	s.t.Helper()
	asked := must.Get(json.Marshal(map[string]any{"prompt": prompt, "n_predict": 10, "temperature": 0}))(s.t)
	var answer struct {
		Content string
		Timings struct {
			Cached int `json:"cache_n"`
		}
	}
	must.Do(s.t, json.Unmarshal([]byte(s.send(http.MethodPost, "/completion", key, asked)), &answer))
	return answer.Content, answer.Timings.Cached
}

func (s diskServer) send(method, path, key string, body []byte) string {
	s.t.Helper()
	status, _, text := hosts.Send(s.t, http.DefaultClient, hosts.NewRequest(s.t, method, s.URL()+path, body, "Authorization", "Bearer "+key, "Content-Type", "application/json"))
	if status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, status, text)
	}
	return text
}

// Long prompts outlive the server on the disk: after a restart one that begins alike is read, and
// answered as before. Nobody finds those of another key, or of a model with other cells.
func TestHost_Disk_OutlivesTheServer(t *testing.T) {
	folder := t.TempDir()
	shape := synth.Shape{Name: "disk", Dim: 256, Layers: 4, Heads: 4, KVHeads: 1, FFN: 2048, Context: 4096}
	path := hosts.Written(t, "model.gguf", func(w io.Writer) error { return synth.Write(w, shape, hosts.BuiltIn, synth.Q80, 1) })
	prompt := make([]int, 2200)
	for i := range prompt {
		prompt[i] = 20 + i*i%230
	}
	other := append(slices.Clone(prompt[:2100]), 30, 40, 50)
	disk := filepath.Join(folder, "conversations")
	options := map[string]any{"model.path": path, "server.api_keys": "first,second"}
	s := openDisk(t, disk, options)
	want, _ := s.complete(prompt, "first")
	wantOther, _ := s.complete(other, "first")
	s.stop()
	for _, restart := range []struct {
		name, key string
		change    map[string]any
		found     bool
	}{{"same", "first", nil, true}, {"other key", "second", nil, false}, {"other cells", "first", map[string]any{"model.cache_type_k": "q8_0"}, false}} {
		t.Run(restart.name, func(t *testing.T) {
			change := maps.Clone(options)
			maps.Copy(change, restart.change)
			s := openDisk(t, disk, change)
			got, cached := s.complete(prompt, restart.key)
			if restart.found != (cached > 2000) || !restart.found && cached > 0 || restart.change == nil && got != want {
				t.Errorf("%q with %d tokens found, want %q", got, cached, want)
			}
			if got, cached := s.complete(other, restart.key); restart.change == nil && got != wantOther || cached < 2000 {
				t.Errorf("%q with %d tokens found, want %q", got, cached, wantOther)
			}
			if read := !strings.Contains(s.send(http.MethodGet, "/metrics", restart.key, nil), "\npenstock_cache_disk_reads_total 0\n"); read != restart.found {
				t.Errorf("the disk was read: %v", read)
			}
			s.stop()
		})
	}
}
