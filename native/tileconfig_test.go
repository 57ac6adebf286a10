// SPDX-License-Identifier: MIT

package native

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// The instructions of AMX that read memory. What they read is copied to `seen` instead, so that
// these tests run on any x86-64: first what is before the address in brackets, then the base.
var tileReads = regexp.MustCompile(`(?m)^\s*(?:ldtilecfg\s+([^(\n]*)(\([^)\n]*\))|tileloadd\s+()\((%\w+),[^)\n]*\), %tmm\d+)$`)

// tilesSeen compiles a program for CPUs with AMX and returns what its last such instruction sees
// in the first 64 bytes.
func tilesSeen(t *testing.T, program string, flags ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	source, text, binary := filepath.Join(dir, "a.cpp"), filepath.Join(dir, "a.s"), filepath.Join(dir, "a.out")
	must.Do(t, os.WriteFile(source, []byte(program), 0o600))
	compiler := cmp.Or(os.Getenv("CXX"), "c++")
	run := func(name string, arguments ...string) []byte {
		t.Helper()
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), name, arguments...)
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, &said)
		}
		return out
	}
	run(compiler, append([]string{"-std=c++17", "-mamx-tile", "-S", source, "-o", text}, flags...)...)
	assembly := must.Get(os.ReadFile(text))(t)
	found := 0
	copied := tileReads.ReplaceAllStringFunc(string(assembly), func(line string) string {
		found++
		part := tileReads.FindStringSubmatch(line)
		offset, base := cmp.Or(part[1], "0"), part[2]
		if base == "" {
			base = "(" + part[4] + ")"
		}
		var b strings.Builder
		for _, at := range []string{"0", "16", "32", "48"} {
			b.WriteString("\tmovups " + at + "+" + offset + base + ", %xmm15\n\tmovups %xmm15, " + at + "+seen(%rip)\n")
		}
		return b.String()
	})
	if found == 0 {
		t.Fatalf("no instruction of AMX that reads memory in\n%s", assembly)
	}
	must.Do(t, os.WriteFile(text, []byte(copied), 0o600))
	run(compiler, text, "-o", binary)
	return run(binary)
}

const tileProgram = `
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <immintrin.h>
extern "C" { unsigned char seen[64]; }
`

const tileHeader = "llama.cpp/tileconfig.h"

func onlyX86(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("AMX is a part of x86-64")
	}
}

// The whole configuration that ggml's own function makes reaches the instruction, as it does
// without optimisation. Without tileconfig.h most compilers lose all but the first bytes, and the
// first request on a CPU with AMX ended the process.
func TestTileConfig_AllBytesAreStored(t *testing.T) {
	onlyX86(t)
	ggml := must.Get(os.ReadFile(filepath.Join(llamaSource(t), "ggml/src/ggml-cpu/amx/mmq.cpp")))(t)
	functions := regexp.MustCompile(`(?ms)^struct tile_config_t *\{.*?^\};.*?^inline void ggml_tile_config_init\(void\) \{.*?^\}`).FindString(string(ggml))
	if functions == "" {
		t.Fatal("ggml makes its tile configuration in another way: this test and tileconfig.h must follow")
	}
	program := tileProgram + "namespace {\n" + functions + "\n}\n" + `
__attribute__((noinline)) void configure() { ggml_tile_config_init(); } // a call after it in the same function would keep the bytes
int main() { configure(); return fwrite(seen, 64, 1, stdout) != 1; }
`
	want := tilesSeen(t, program, "-O0")
	if want[0] != 1 || want[16] == 0 || want[48] == 0 || want[55] == 0 {
		t.Fatalf("% x is no configuration of eight tiles", want)
	}
	for _, flags := range [][]string{{"-O2"}, {"-O3", "-fPIC"}} {
		if got := tilesSeen(t, program, append(flags, "-include", tileHeader)...); !bytes.Equal(got, want) {
			t.Errorf("with %v the processor sees\n% x\nnot\n% x", flags, got, want)
		}
	}
	if bytes.Equal(tilesSeen(t, program, "-O3"), want) {
		t.Log("this compiler is right without tileconfig.h too")
	}
}

// What was written to a tile's memory is there when the tile is loaded.
func TestTileLoad_ReadsMemory(t *testing.T) {
	onlyX86(t)
	program := tileProgram + `
static void load(int value) {
    alignas(64) char tile[1024];
    memset(tile, value, sizeof(tile));
    _tile_loadd(0, tile, 64);
}
int main(int arguments, char **) { load(arguments + 6); return fwrite(seen, 64, 1, stdout) != 1; }
`
	if got := tilesSeen(t, program, "-O3", "-include", tileHeader); !bytes.Equal(got, bytes.Repeat([]byte{7}, 64)) {
		t.Errorf("the processor sees % x", got)
	}
}
