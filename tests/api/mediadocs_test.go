// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// notAsked are the blocks of docs/media.md that ask no server.
var notAsked = []string{"penstock model pull OWNER/NAME\npenstock serve NAME\n", "penstock serve --model text.gguf --mmproj mmproj-text.gguf\n"}

// openPair serves a small model that sees and hears.
func openPair(t *testing.T, change map[string]any) *host.Host {
	t.Helper()
	path, projector := must.Both(synth.MediaPair{Projector: "mlp+ultravox", Text: "llama"}.WriteFiles(t.TempDir(), 1))(t)
	all := map[string]any{"model.path": path, "model.mmproj": projector}
	for key, value := range change {
		all[key] = value
	}
	return hosts.Open(t, all)
}

// Each command of docs/media.md is answered as it stands by a model that sees and hears.
func TestDocs_Media(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/media.md"))(t)
	plugins := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(plugins, "last-pictures.wasm"), hosts.Example(t, "last-pictures"), 0o600))
	h := openPair(t, map[string]any{"plugins.dir": plugins})
	hosts.Run(t, h)
	transcriptIsDescribed(t, h)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"cat.png": mediatest.PNG(600, 400), "before.png": mediatest.PNG(300, 200), "speech.wav": mediatest.WAV(16000, 1, make([]byte, 64000))} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	left := len(notAsked)
	blocks := strings.Split(string(text), "```")
	for i := 1; i < len(blocks); i += 2 {
		block, isShell := strings.CutPrefix(blocks[i], "sh\n")
		if !isShell {
			t.Fatalf("a block that is no command: %s", blocks[i])
		}
		if left > 0 && block == notAsked[len(notAsked)-left] {
			left--
			continue
		}
		if !strings.Contains(block, "curl ") {
			t.Errorf("nobody runs %s", block)
		}
		script := "set -euo pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n" + strings.ReplaceAll(block, "http://127.0.0.1:8080", h.URL())
		command := exec.CommandContext(t.Context(), "bash", "-c", script)
		command.Dir = dir
		if said, err := command.CombinedOutput(); err != nil || !strings.Contains(string(said), `"`) {
			t.Errorf("%v\n%s\nprinted %.500s", err, block, said)
		}
	}
	if left > 0 {
		t.Errorf("docs/media.md has not %q", notAsked[len(notAsked)-left:])
	}
}

// transcriptIsDescribed compares an answer with docs/openapi.yaml. That of the other tests comes
// from a model that does not hear.
func transcriptIsDescribed(t *testing.T, h *host.Host) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "speech.wav")
	if err == nil {
		_, err = file.Write(mediatest.WAV(16000, 1, make([]byte, 64000)))
	}
	if err = errors.Join(err, form.WriteField("max_tokens", "3"), form.WriteField("include[]", "logprobs"), form.Close()); err != nil {
		t.Fatal(err)
	}
	d := newDescription(t, h.URL())
	answer := d.call(200, hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/audio/transcriptions", body.Bytes(), "Content-Type", form.FormDataContentType()))
	if !strings.Contains(answer, `"audio_tokens":375`) {
		t.Errorf("a sound of two seconds: %s", answer)
	}
}
