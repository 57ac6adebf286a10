// SPDX-License-Identifier: MIT

package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// unpack returns the folder with what `make dist` has packed.
func unpack(t *testing.T) string {
	t.Helper()
	archive := os.Getenv("PENSTOCK_TEST_DIST")
	if archive == "" {
		t.Skip("`make dist-test` runs this")
	}
	dir := filepath.Join(t.TempDir(), "any folder")
	must.Do(t, os.Mkdir(dir, 0o755))
	run(t, exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", dir, "--strip-components=1"))
	return dir
}

func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, said)
	}
	return string(said)
}

// A licence comes with all that is in the program, and no path of the machine that built it.
func TestDist_Contents(t *testing.T) {
	dir := unpack(t)
	for _, name := range []string{"LICENSE", "README.md", "Containerfile", "penstock.service", "licenses/llama.cpp/LICENSE", "licenses/go/std/LICENSE",
		"licenses/go/github.com/tetratelabs/wazero/LICENSE", "licenses/npm/preact/LICENSE", "licenses/system/libc6", "licenses/system/LGPL-2.1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	root := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	files := must.Get(filepath.Glob(filepath.Join(dir, "share", "penstock", "plugins", "*")))(t)
	for _, file := range append(files, filepath.Join(dir, "bin", "penstock")) {
		content := must.Get(os.ReadFile(file))(t)
		if at := bytes.Index(content, []byte(root+"/")); at >= 0 {
			t.Errorf("%s has the path %q", file, content[at:at+100])
		}
	}
}

// The program finds the plugins that come with it: all examples, but for those that do in Rust what
// another does in Go.
func TestDist_Plugins(t *testing.T) {
	dir := unpack(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "penstock"), "plugin", "list", "--json")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir}
	var listed []struct {
		Name, State string
		Bundled     bool
	}
	if said := run(t, cmd); json.Unmarshal([]byte(said), &listed) != nil {
		t.Fatal(said)
	}
	var got, want []string
	for _, p := range listed {
		if p.Bundled && p.State == "ready" {
			got = append(got, p.Name)
		}
	}
	examples := must.Get(filepath.Glob("../../plugins/examples/*/README.md"))(t)
	for _, example := range examples {
		folder := filepath.Dir(example)
		if _, err := os.Stat(strings.TrimSuffix(folder, "-rust")); !strings.HasSuffix(folder, "-rust") || err != nil {
			want = append(want, filepath.Base(folder))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("it lists %v; want %v", got, want)
	}
}

// On an emulated CPU of the past the program takes the level that suits it, and computes with no
// instruction that it lacks.
func TestDist_OlderCPUs(t *testing.T) {
	program := filepath.Join(unpack(t), "bin", "penstock")
	for cpu, level := range map[string]string{"core2duo": "x86-64", "Nehalem": "sse42", "SandyBridge": "sse42", "Haswell": "avx2"} {
		t.Run(cpu, func(t *testing.T) {
			home := t.TempDir()
			emulated := func(args ...string) string {
				cmd := exec.CommandContext(t.Context(), "qemu-x86_64", append([]string{"-cpu", cpu, program}, args...)...)
				cmd.Dir = "/"
				cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
				var errOut strings.Builder
				cmd.Stderr = &errOut
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %v: %s%s", args, err, out, errOut.String())
				}
				return string(out)
			}
			var version struct {
				Level string `json:"cpu_level"`
			}
			if said := emulated("version", "--json"); json.Unmarshal([]byte(said), &version) != nil || version.Level != level {
				t.Errorf("it takes %q, want %s: %s", version.Level, level, said)
			}
			if said := emulated("run", "--temperature", "0", "--max-tokens", "12", "Tell me a story about a frog."); !strings.HasPrefix(said, "Once upon a time there was a frog") {
				t.Errorf("it says %q", said)
			}
			if said := emulated("doctor", "--listen", "127.0.0.1:0"); !strings.Contains(said, "attention: penstock") || strings.Contains(said, "is broken") {
				t.Errorf("doctor says %s", said)
			}
		})
	}
}

// copyLikeImage copies $1 to $2 as COPY does: of a folder its content, and into a folder where $2
// ends in a slash.
const copyLikeImage = `case "$2" in */) mkdir -p "$2" ;; *) mkdir -p "$(dirname "$2")" ;; esac
	[ ! -d "$1" ] || set -- "$1/." "$2"
	cp -r "$1" "$2"`

// What the container file does, done by hand: the image that it describes serves, as its user,
// with a root that cannot be written.
func TestDist_Container(t *testing.T) {
	archive := unpack(t)
	all := instructions(t, filepath.Join(archive, "Containerfile"))
	root := filepath.Join(t.TempDir(), "root")
	must.Do(t, os.Mkdir(root, 0o755))
	for _, text := range textsOf(all, "RUN") {
		if !strings.Contains(text, "apt-get") { // which would install the certificates that are here already
			run(t, exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(text, "/out", root)))
		}
	}
	stage := lastStage(all)
	for _, text := range textsOf(stage, "COPY") {
		words := strings.Fields(text)
		if words[0] == "--from=system" {
			continue // done by the commands
		}
		to := root + words[len(words)-1]
		for _, from := range words[:len(words)-1] {
			run(t, exec.CommandContext(t.Context(), "sh", "-ec", copyLikeImage, "sh", filepath.Join(archive, from), to))
		}
	}
	for _, folder := range []string{"proc", "dev"} {
		must.Do(t, os.Mkdir(filepath.Join(root, folder), 0o755))
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	inside := func(words []string) *exec.Cmd {
		script := `mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"; for f in proc dev; do mount --rbind /$f "$1/$f"; done
			mount --bind "$1/../lib" "$1/var/lib/penstock"; mount --bind "$1/../cache" "$1/var/cache/penstock"; mount -t tmpfs tmpfs "$1/tmp"
			root=$1 user=$2; shift 2; exec chroot --userspec="$user" "$root" "$@"`
		cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "sh", "-ec", script, "sh", root, textsOf(stage, "USER")[0]}, words...)...)
		cmd.Env = strings.Fields(textsOf(stage, "ENV")[0])
		return cmd
	}
	serveInside(t, root, stage, inside)
	if said := run(t, inside([]string{"/usr/bin/penstock", "plugin", "list"})); !strings.Contains(said, "banned-phrases") {
		t.Errorf("it lists the plugins %s", said)
	}
}

// serveInside starts what the image starts, at another address, and asks it what the image's
// health check asks.
func serveInside(t *testing.T, root string, stage []instruction, inside func(words []string) *exec.Cmd) {
	t.Helper()
	for _, volume := range []string{"lib", "cache"} {
		path := filepath.Join(root, "..", volume)
		must.Do(t, os.Mkdir(path, 0o750))
		if err := os.Chown(path, 65532, 65532); err != nil {
			t.Fatalf("%v: run this as root", err)
		}
	}
	words := append(list(t, textsOf(stage, "ENTRYPOINT")[0]), list(t, textsOf(stage, "CMD")[0])...)
	for i := range words {
		words[i] = strings.Replace(words[i], ":8080", "127.0.0.1:0", 1)
	}
	s := serve(t, inside(words))
	_, check, _ := strings.Cut(textsOf(stage, "HEALTHCHECK")[0], "CMD ")
	run(t, inside(append(list(t, check), s.url)))
	body := `{"messages":[{"role":"user","content":"Tell me a story about a frog."}],"temperature":0,"max_tokens":12}`
	if status, text := s.ask(t, "/v1/chat/completions", "application/json", body); status != 200 || !strings.Contains(text, "Once upon a time") {
		t.Errorf("%d %s; the server says %s", status, text, s.said)
	}
	s.stop(t)
}

// list reads the words of an instruction in JSON.
func list(t *testing.T, text string) (words []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return words
}
