// SPDX-License-Identifier: MIT

package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// A tree with our build script, an empty llama.cpp, and tools that only record what they are asked
// to do.
type buildTree struct {
	t                 *testing.T
	root, tools, dest string
}

// The CPU is what the compiler says it is; cmake fails for CUDA where NO_CUDA is set; the program
// it links needs LIBRARIES.
var fakeTools = map[string]string{
	"c++": `case "$*" in *-march=native*) echo "#define ${CPU:-__AVX2__} 1" ;; *) echo "c++ 1.0" ;; esac`,
	"cc":  `echo cc 1.0`,
	"ar":  `read -r create archive; sed -n 's,addlib .*/,,p' > "$archive"`,
	"cmake": `
case "$1" in
  -S) echo "configure $4" >> "$ASKED"
      case "$*" in *GGML_CUDA=ON*) [ -z "$NO_CUDA" ] || { echo no CUDA; exit 1; } ;; esac
      mkdir -p "$4" ;;
  --build) echo "build $2" >> "$ASKED"; printf '#!/bin/sh\nexit ${PROBE:-0}\n' > "$2/penstock_probe"; chmod +x "$2/penstock_probe" ;;
esac`,
	"ninja": `echo "cc -c probe.cpp"; echo ": && c++ -O3 probe.o -o penstock_probe llama/libllama.a libpenstock_shim.a $LIBRARIES && :"`,
}

const fakeNVCC = `echo nvcc 1.0`

func newBuildTree(t *testing.T) *buildTree {
	t.Helper()
	root := t.TempDir()
	b := &buildTree{t, root, filepath.Join(root, "tools"), filepath.Join(root, "build", "llama.cpp")}
	for _, file := range []string{"build.sh", "fetch.sh", "llama.lock", "CMakeLists.txt", "stall.h"} {
		b.write(filepath.Join("native", "llama.cpp", file), readFile(t, filepath.Join("llama.cpp", file)))
	}
	for _, file := range []string{"source/include/llama.h", "source/ggml/include/ggml.h", "native/llama.cpp/kernels/a.cpp", "native/llama.cpp/shim/a.cpp"} {
		b.write(file, "")
	}
	for name, text := range fakeTools {
		b.tool(name, text)
	}
	return b
}

func (b *buildTree) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.root, name)
	must.Do(b.t, os.MkdirAll(filepath.Dir(path), 0o700))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // scripts
		b.t.Fatal(err)
	}
}

func (b *buildTree) tool(name, text string) {
	b.write(filepath.Join("tools", name), "#!/bin/sh\n"+text+"\n")
}

// run builds and returns what cmake was asked to do and what the user sees.
func (b *buildTree) run(environment ...string) (asked []string, seen string) {
	b.t.Helper()
	log := filepath.Join(b.root, "asked")
	b.write("asked", "")
	cmd := exec.CommandContext(b.t.Context(), filepath.Join(b.root, "native", "llama.cpp", "build.sh"), b.dest)
	cmd.Env = append([]string{"PATH=" + b.tools + ":/usr/bin:/bin", "ASKED=" + log, "LLAMA_CPP_DIR=" + filepath.Join(b.root, "source")}, environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %v\n%s", environment, err, out)
	}
	return strings.Fields(strings.ReplaceAll(readFile(b.t, log), b.dest, "")), string(out)
}

func (b *buildTree) stamp() string { return readFile(b.t, filepath.Join(b.dest, "out", "stamp")) }
func (b *buildTree) goFile() string {
	return readFile(b.t, filepath.Join(b.root, "native", "zz_stamp.go"))
}

func TestBuild_Configuration_OwnFolderAndBackAtOnce(t *testing.T) {
	others := []string{"BACKEND=vulkan", "CMAKE_ARGS=-DGGML_LTO=ON", "CXX=clang++", "CFLAGS=-O1", "OPENMP=ON", "CPU=__AVX512F__", "NATIVE=OFF"}
	for _, other := range steadytest.Some(t, others, 3) {
		t.Run(other, func(t *testing.T) {
			b := newBuildTree(t)
			b.tool("clang++", `case "$*" in *-march=native*) echo "#define __AVX2__ 1" ;; *) echo "clang 1.0" ;; esac`)
			b.tool("glslc", "")
			first, _ := b.run("BACKEND=cpu")
			stamp, text := b.stamp(), b.goFile()
			second, _ := b.run("BACKEND=cpu", other)
			if len(first) != 4 || len(second) != 4 || first[1] == second[1] {
				t.Errorf("it did %q, then %q in the same folder", first, second)
			}
			if b.stamp() == stamp || b.goFile() == text {
				t.Error("Go would not link again")
			}
			back, _ := b.run("BACKEND=cpu")
			if len(back) != 0 {
				t.Errorf("back at the first it did %q", back)
			}
			if b.stamp() != stamp || b.goFile() != text {
				t.Error("Go would go on with the second")
			}
		})
	}
	t.Run("NATIVE=OFF on another CPU", func(t *testing.T) {
		b := newBuildTree(t)
		b.run("BACKEND=cpu", "NATIVE=OFF")
		if asked, _ := b.run("BACKEND=cpu", "NATIVE=OFF", "CPU=__AVX512F__"); len(asked) != 0 {
			t.Errorf("it did %q", asked)
		}
	})
}

func TestBuild_LinkFlags_OfTheToolkit(t *testing.T) {
	b := newBuildTree(t)
	b.tool("nvcc", fakeNVCC)
	b.run("BACKEND=cuda", "LIBRARIES=/opt/cuda-13/lib64/libcudart.so -lcuda -Wl,-rpath,/opt/cuda-13/lib64:/opt/cuda-13/lib64/stubs: "+
		"'/with space/libnccl.so' /opt/static/libx.a -framework Metal -Wl,-rpath,/opt/cuda-13/lib64/stubs -lm")
	want := `// #cgo LDFLAGS: /opt/cuda-13/lib64/libcudart.so -lcuda -Wl,-rpath,/opt/cuda-13/lib64 "/with space/libnccl.so" /opt/static/libx.a -framework Metal -lm` + "\n"
	if text := b.goFile(); !strings.Contains(text, want) {
		t.Errorf("Go gets\n%s\nwant\n%s", text, want)
	}
	if merged := readFile(t, filepath.Join(b.dest, "out", "lib", "libpenstock_llama.a")); merged != "libpenstock_shim.a\nlibllama.a\n" && merged != "libllama.a\nlibpenstock_shim.a\n" {
		t.Errorf("merged are %q", merged)
	}
}

func TestBuild_Auto_FallsBackOnce(t *testing.T) {
	for _, reason := range []string{"NO_CUDA=1", "PROBE=127"} {
		t.Run(reason, func(t *testing.T) {
			b := newBuildTree(t)
			b.tool("nvcc", fakeNVCC)
			_, seen := b.run(reason)
			if n := strings.Count(seen, "does not work here, so this is a build for the CPU"); n != 1 || strings.Contains(seen, "no CUDA\n") {
				t.Errorf("the user sees\n%s", seen)
			}
			if text := b.goFile(); !strings.Contains(text, `"cpu"`) {
				t.Errorf("Go gets\n%s", text)
			}
			if again, _ := b.run(reason); len(again) != 0 {
				t.Errorf("the next time it did %q", again)
			}
			b.tool("nvcc", "echo nvcc 2.0")
			if _, seen := b.run(); strings.Contains(seen, "the CPU") || !strings.Contains(b.goFile(), `"cuda"`) {
				t.Errorf("with another toolkit the user sees\n%s", seen)
			}
		})
	}
}

func TestBuild_ElsewhereThanGoLooks_LeavesGoAlone(t *testing.T) {
	b := newBuildTree(t)
	b.run("BACKEND=cpu")
	text := b.goFile()
	b.dest = filepath.Join(b.root, "elsewhere")
	if b.run("BACKEND=cpu", "OPENMP=ON"); b.goFile() != text {
		t.Errorf("Go gets\n%s", b.goFile())
	}
}
