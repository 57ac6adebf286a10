// SPDX-License-Identifier: MIT

package models

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tests/hosts"
)

// Who names no model of several gets the first one that sees for a picture, in every dialect. Who
// names one gets that, or a refusal.
func TestSeeing(t *testing.T) {
	folder := t.TempDir()
	text, projector, err := synth.MediaPairs[2].WriteFiles(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	blind, err := os.ReadFile(hosts.BuiltIn)
	err = errors.Join(err, os.WriteFile(filepath.Join(folder, "blind.gguf"), blind, 0o600), os.Rename(text, filepath.Join(folder, "seeing.gguf")),
		os.Rename(projector, filepath.Join(folder, "mmproj-seeing.gguf")))
	var drawn bytes.Buffer
	if err := errors.Join(err, png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 30, 20)))); err != nil {
		t.Fatal(err)
	}
	h := hosts.Open(t, map[string]any{"models.dir": folder, "scheduler.slots": "2"})
	defer hosts.Run(t, h)()
	picture := base64.StdEncoding.EncodeToString(drawn.Bytes())
	openAI := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}}]}],"max_tokens":2}`
	anthropic := `"max_tokens":2,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}]}]}`
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/chat/completions", `{` + openAI, http.StatusOK},
		{"/v1/chat/completions", `{"model":"seeing",` + openAI, http.StatusOK},
		{"/v1/chat/completions", `{"model":"blind",` + openAI, http.StatusBadRequest},
		{"/v1/chat/completions", `{"model":"other",` + openAI, http.StatusNotFound},
		{"/v1/chat/completions", `{` + hosts.Frog + `,"max_tokens":2}`, http.StatusBadRequest}, // which of the two is not said
		{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + picture + `"}]}],"max_output_tokens":2}`, http.StatusOK},
		{"/v1/messages", `{"model":"seeing",` + anthropic, http.StatusOK},
		{"/api/chat", `{"stream":false,"messages":[{"role":"user","content":"?","images":["` + picture + `"]}],"options":{"num_predict":2}}`, http.StatusOK},
		{"/api/generate", `{"stream":false,"prompt":"?","images":["` + picture + `"],"options":{"num_predict":2}}`, http.StatusOK},
	} {
		status, body := hosts.Post(t, h.URL()+c.path, c.body)
		var answer struct{ Model string }
		_ = json.Unmarshal([]byte(body), &answer)
		if status != c.status || status == http.StatusOK && answer.Model != "seeing" {
			t.Errorf("%s %.60s: %d, the model %q answers: %s", c.path, c.body, status, answer.Model, body)
		}
	}
}
