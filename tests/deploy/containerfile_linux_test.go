// SPDX-License-Identifier: MIT

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// instruction is one of a container file: "RUN" and its text, for example. Lines that end in a
// backslash are joined.
type instruction struct{ word, text string }

func instructions(t *testing.T, file string) (all []instruction) {
	t.Helper()
	text := must.Get(os.ReadFile(file))(t)
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			word, rest, _ := strings.Cut(line, " ")
			all = append(all, instruction{word, rest})
		}
	}
	return all
}

// lastStage are the instructions from the last FROM on.
func lastStage(all []instruction) []instruction {
	var last int
	for i := range all {
		if all[i].word == "FROM" {
			last = i
		}
	}
	return all[last:]
}

func textsOf(all []instruction, word string) (texts []string) {
	for _, i := range all {
		if i.word == word {
			texts = append(texts, i.text)
		}
	}
	return texts
}

// The last stage runs as a user that is not root, by number, so that a cluster can check it, and
// has no compiler and no source.
func TestContainerfile_LastStage(t *testing.T) {
	for _, file := range []string{"../../deploy/Containerfile", "../../deploy/dist/Containerfile"} {
		checkLastStage(t, lastStage(instructions(t, file)), file)
	}
}

func checkLastStage(t *testing.T, stage []instruction, file string) {
	t.Helper()
	if user := textsOf(stage, "USER"); len(user) != 1 || !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user[0]) {
		t.Errorf("%s: USER is %q", file, user)
	}
	for _, run := range textsOf(stage, "RUN") {
		if !strings.Contains(run, "--no-install-recommends") || strings.Contains(run, "build-essential") {
			t.Errorf("%s: the last stage has RUN %s", file, run)
		}
	}
	for _, copied := range textsOf(stage, "COPY") {
		if strings.HasPrefix(copied, ". ") {
			t.Errorf("%s: the last stage has COPY %s", file, copied)
		}
	}
}

// Each word is an instruction, each command is one that shellcheck takes, and what is named of the
// repository is there.
func TestContainerfile_Commands(t *testing.T) {
	all := append(instructions(t, "../../deploy/Containerfile"), instructions(t, "../../deploy/dist/Containerfile")...)
	known := []string{"FROM", "RUN", "WORKDIR", "COPY", "ARG", "ENV", "VOLUME", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
	for _, i := range all {
		if !slices.Contains(known, i.word) {
			t.Errorf("%s is no instruction of this file", i.word)
		}
	}
	for _, run := range textsOf(all, "RUN") {
		check := exec.Command("shellcheck", "--shell=sh", "-")
		check.Stdin = strings.NewReader(run + "\n")
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("RUN %s: %v: %s", run, err, said)
		}
		for _, name := range regexp.MustCompile(`(?:^|\s)((?:scripts/|LICENSE)\S*)`).FindAllStringSubmatch(run, -1) {
			if _, err := os.Stat(filepath.Join("..", "..", name[1])); err != nil {
				t.Errorf("RUN %s: %v", run, err)
			}
		}
	}
}

// The libraries that the binary asks for are in the last stage: those of libc are in the image,
// others are installed.
func TestContainerfile_Libraries(t *testing.T) {
	said, err := exec.Command("ldd", "../../bin/penstock").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	packages := map[string]string{"libstdc++": "libstdc++6", "libgcc_s": "libstdc++6", "libc": "", "libm": "", "linux-vdso": ""}
	runs := textsOf(instructions(t, "../../deploy/Containerfile"), "RUN")
	for line := range strings.Lines(string(said)) {
		library, _, _ := strings.Cut(filepath.Base(strings.Fields(line)[0]), ".")
		if strings.HasPrefix(library, "ld-linux") {
			continue
		}
		if installed, ok := packages[library]; !ok || !strings.Contains(runs[len(runs)-1], installed) {
			t.Errorf("the binary needs %s, which the image does not have", strings.TrimSpace(line))
		}
	}
}
