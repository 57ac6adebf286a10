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
	"github.com/penstock/penstock/tools/must"
)

// Who names no model of several gets the first one that sees for a picture. Who names one gets
// that, or a refusal. TestBuiltInSeeing_WhichModel has the other dialects.
func TestSeeing(t *testing.T) {
	folder := t.TempDir()
	text, projector := must.Both(synth.MediaPairs[2].WriteFiles(t.TempDir(), 1))(t)
	blind, err := os.ReadFile(hosts.BuiltIn)
	err = errors.Join(err, os.WriteFile(filepath.Join(folder, "blind.gguf"), blind, 0o600), os.Rename(text, filepath.Join(folder, "seeing.gguf")),
		os.Rename(projector, filepath.Join(folder, "mmproj-seeing.gguf")))
	var drawn bytes.Buffer
	must.Do(t, errors.Join(err, png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 30, 20)))))
	h := hosts.Open(t, map[string]any{"models.dir": folder, "scheduler.slots": "2"})
	defer hosts.Run(t, h)()
	picture := base64.StdEncoding.EncodeToString(drawn.Bytes())
	openAI := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + picture + `"}}]}],"max_tokens":2}`
	for _, c := range []struct {
		body   string
		status int
	}{
		{`{` + openAI, http.StatusOK},
		{`{"model":"seeing",` + openAI, http.StatusOK},
		{`{"model":"blind",` + openAI, http.StatusBadRequest},
		{`{"model":"other",` + openAI, http.StatusNotFound},
		{`{` + hosts.Frog + `,"max_tokens":2}`, http.StatusBadRequest}, // which of the two is not said
	} {
		status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", c.body)
		var answer struct{ Model string }
		_ = json.Unmarshal([]byte(body), &answer)
		if status != c.status || status == http.StatusOK && answer.Model != "seeing" {
			t.Errorf("%.60s: %d, the model %q answers: %s", c.body, status, answer.Model, body)
		}
	}
}
