// SPDX-License-Identifier: MIT

package toolchain

import (
	"context"
	"fmt"
	goversion "go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// existing are those of the programs that are there, each once, as absolute paths. A name without
// a folder is looked for on PATH.
func existing(programs ...string) []string {
	var found []string
	for _, program := range programs {
		if program == "" {
			continue
		}
		if path, err := exec.LookPath(program); err == nil && !slices.Contains(found, absolute(path)) {
			found = append(found, absolute(path))
		}
	}
	return found
}

// besides is a file of the checkout in whose bin folder this program lies.
func besides(file string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	if followed, err := filepath.EvalSymlinks(self); err == nil {
		self = followed
	}
	return filepath.Join(filepath.Dir(self), "..", filepath.FromSlash(file))
}

// absolute is a path that holds in any folder. Compilers run in the project's.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// version asks a program for its version, which is the first group of pattern.
func version(ctx context.Context, program string, pattern *regexp.Regexp, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = os.TempDir() // in a module, go would look for the version that go.mod names
	said, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %.200s", err, said)
	}
	found := pattern.FindSubmatch(said)
	if found == nil {
		return "", fmt.Errorf("it says %.200q", said)
	}
	return string(found[1]), nil
}

// atLeast compares versions such as 1.24 and 1.24.3.
func atLeast(found, least string) bool { return goversion.Compare("go"+found, "go"+least) >= 0 }

// unusable says why a program that is there cannot be used.
func unusable(program, found, least string, err error) string {
	if err != nil {
		return fmt.Sprintf("%s does not say its version (%v)", program, err)
	}
	return fmt.Sprintf("%s is version %s, and %s is needed", program, found, least)
}

// missing is the error for a compiler of which there is none.
func missing(what string, reasons []string, install string) error {
	found := "none was found"
	if len(reasons) > 0 {
		found = strings.Join(reasons, "; ")
	}
	return fmt.Errorf("%s is %w: %s\n%s", what, ErrMissing, found, install)
}
