// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/watermark"
	"github.com/penstock/penstock/tools/must"
)

// TestWatermark_Detect_ReadsTextAndKey has a text in a file and as input, and a key in a file.
func TestWatermark_Detect_ReadsTextAndKey(t *testing.T) {
	dir := t.TempDir()
	key, text := filepath.Join(dir, "key"), filepath.Join(dir, "text")
	must.Do(t, os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600))
	const words = "Once there was a frog that lived in a pond behind the old mill."
	must.Do(t, os.WriteFile(text, []byte(words), 0o600))
	var r watermark.Result
	file := penstock(t, "", "watermark", "detect", "--key-file", key, "--json", text)
	if err := json.Unmarshal([]byte(file.out), &r); err != nil || file.code != exitDone || r.Tokens < 10 || r.Scored != r.Tokens-4 || r.PValue < 1e-3 {
		t.Errorf("%+v %v", file, err)
	}
	piped := penstock(t, words, "watermark", "detect", "--key-file", key, "--context", "3", "--json")
	if piped.out != penstock(t, "", "watermark", "detect", "--key-file", key, "--context", "3", "--json", text).out || piped.out == file.out {
		t.Errorf("%+v", piped)
	}
	if said := penstock(t, words, "watermark", "detect", "--key-file", key, "--scheme", "green"); !strings.Contains(said.out, "p-value") {
		t.Errorf("%+v", said)
	}
	for _, wrong := range [][]string{{text}, {"--key-file", text, text}, {"--key-file", key, "--scheme", "red", text}} {
		if r := penstock(t, "", append([]string{"watermark", "detect"}, wrong...)...); r.code != exitWrongUse {
			t.Errorf("%v: %+v", wrong, r)
		}
	}
}
