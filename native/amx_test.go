// SPDX-License-Identifier: MIT

package native

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// On a CPU where ggml prefers AMX to all others, weights are laid out for AMX only where AMX is
// allowed, and the report of who computes says so. The CPU is imaginary: a process with a buffer
// type of that name.
func TestKernels_WhereAMXIsFirst(t *testing.T) {
	ggml := filepath.Join(llamaSource(t), "ggml")
	binary := filepath.Join(t.TempDir(), "amx")
	flags := []string{"-std=c++17", "-O1", "-Illama.cpp/shim", "-I" + ggml + "/include", "-I" + ggml + "/src", "-I" + ggml + "/src/ggml-cpu",
		"testdata/amx.cpp", "-o", binary, "-L../build/llama.cpp/out/lib", "-lpenstock_llama", "-lpthread"}
	compile := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("CXX"), "c++"), append(flags, linkedWith(t)...)...)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary, builtIn).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "1 ") {
		t.Fatalf("%s", out)
	}
	first, together := PlainKernels, 4 // who computes Q8_0 if AMX may not
	if lines[0] == "1 1" {
		first, together = PenstockKernels, 1
	}
	var token int
	if _, err := fmt.Sscanf(lines[1], "1 %d 0 %d", new(int), &token); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for i, want := range []string{
		fmt.Sprintf("1 %d 0 %d %d", first, token, together),
		fmt.Sprintf("1 %d 1 %d 1", AMXKernels, token),
		fmt.Sprintf("1 %d 0 %d 4", PlainKernels, token),
	} {
		if lines[i+1] != want {
			t.Errorf("choice %d: %q, want %q", i, lines[i+1], want)
		}
	}
}

// linkedWith are the flags that the build of llama.cpp wrote for Go.
func linkedWith(t *testing.T) []string {
	t.Helper()
	written, err := os.ReadFile("zz_stamp.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^// #cgo LDFLAGS: (.*)$`).FindSubmatch(written)
	if found == nil {
		t.Fatalf("no flags in\n%s", written)
	}
	return strings.Fields(string(found[1]))
}
