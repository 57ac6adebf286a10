// SPDX-License-Identifier: MIT

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// A program in a module of its own, made as docs/library.md says, builds and answers. That of the
// document's first command, llama.cpp, is built already.
func TestLibrary_NewModule_Answers(t *testing.T) {
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	dir := t.TempDir()
	in, said := dir, ""
	steps := 0
	for _, b := range blocks(t, "docs/library.md") {
		switch {
		case b.language == "sh" && strings.HasPrefix(b.text, "make -C penstock llama\n"):
			steps++
		case b.language == "sh":
			steps++
			cmd := exec.CommandContext(t.Context(), "bash", "-euc", strings.ReplaceAll(b.text, "../penstock", root))
			cmd.Dir, cmd.Env = in, append(os.Environ(), "GOWORK=off", "XDG_CACHE_HOME="+dir, "GOCACHE="+goEnv(t, "GOCACHE"), "PENSTOCK_MODEL_THREADS=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s:\n%v\n%s", b.text, err, out)
			}
			in, said = filepath.Join(dir, "hello"), string(out)
		case b.file != "":
			must.Do(t, os.WriteFile(filepath.Join(in, b.file), []byte(b.text), 0o600))
		}
	}
	if steps != 3 || !strings.Contains(said, "frog") {
		t.Errorf("%d steps, and it says %q; want a story about a frog", steps, said)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out := must.Get(exec.CommandContext(t.Context(), "go", "env", name).Output())(t)
	return strings.TrimSpace(string(out))
}
