// SPDX-License-Identifier: MIT

package archs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/peer"
	"github.com/penstock/penstock/tools/must"
)

// headers is the folder of the headers from which synth.SmallFile makes models.
const headers = "../../native/gguf/synth/archs"

// goingBack are models whose headers the tests of host/engine need as well.
var goingBack = []string{"qwen35-dense", "lfm2moe-moe", "qwen35moe-moe", "qwen4exp-moe", "nemotron_h-dense", "nemotron_h_moe-dense", "kimi-k3-moe", "bailingmoe3-moe", "deepseek4-moe"}

// The models that `make test` serves have the headers of those that llama.cpp's program writes.
func TestHeaders_AreLlamaCpps(t *testing.T) {
	if !peer.Live() && !peer.Recording() {
		t.Skip("make test-long builds and runs llama.cpp's program")
	}
	names := slices.Concat(some, goingBack)
	there := must.Get(os.ReadDir(headers))(t)
	for _, file := range there {
		if !slices.Contains(names, strings.TrimSuffix(file.Name(), ".gguf.gz")) {
			t.Errorf("no test needs %s/%s: delete it", headers, file.Name())
		}
	}
	var architectures []string
	for _, name := range names {
		architectures = append(architectures, name[:strings.LastIndexByte(name, '-')])
	}
	written, _ := writeModels(t, "^("+strings.Join(architectures, "|")+")$")
	for _, path := range written {
		if !slices.Contains(names, nameOf(path)) {
			continue // llama.cpp's program writes it with and without experts
		}
		data := must.Get(os.ReadFile(path))(t)
		start := data[:header(t, path).DataOffset]
		stored := filepath.Join(headers, nameOf(path)+".gguf.gz")
		if peer.Recording() {
			keep(t, stored, start)
		}
		if !bytes.Equal(unzipped(t, stored), start) {
			t.Errorf("%s is another; `make golden` writes it", stored)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n == nameOf(path) })
	}
	if len(names) > 0 {
		t.Errorf("llama.cpp's program writes no %v", names)
	}
}

func keep(t *testing.T, path string, data []byte) {
	t.Helper()
	var zipped bytes.Buffer
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = z.Write(data)
	must.Do(t, errors.Join(err, z.Close(), os.WriteFile(path, zipped.Bytes(), 0o644)))
}

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	z := must.Get(gzip.NewReader(file))(t)
	return must.Get(io.ReadAll(z))(t)
}
