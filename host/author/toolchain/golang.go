// SPDX-License-Identifier: MIT

package toolchain

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/penstock/penstock/host/author/project"
)

// minGo is the Go that the SDK needs.
const minGo = "1.24"

// golang is Go's own compiler.
type golang struct {
	program string
	environ []string // of builds
}

var goVersion = regexp.MustCompile(`go version go(\d+\.\d+(?:\.\d+)?)`)

func findGo(ctx context.Context) (compiler, error) {
	program, err := goProgram(ctx)
	if err != nil {
		return nil, err
	}
	environ, err := alone(ctx, program)
	return golang{program, append(environ, "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")}, err
}

// goProgram finds a go of a sufficient version.
func goProgram(ctx context.Context) (string, error) {
	var reasons []string
	for _, program := range existing("go", "/usr/local/go/bin/go") {
		found, err := version(ctx, program, goVersion, "version")
		if err == nil && atLeast(found, minGo) {
			return program, nil
		}
		reasons = append(reasons, unusable(program, found, minGo, err))
	}
	return "", missing("Go "+minGo+" or newer", reasons, installGo())
}

// alone keeps out of a build what lies around the project: a go.work in the folders above, and the
// state of a repository. That would change the module with each commit, and a repository that git
// refuses to read would fail the build.
func alone(ctx context.Context, goProgram string) ([]string, error) {
	flags, err := exec.CommandContext(ctx, goProgram, "env", "GOFLAGS").Output()
	if err != nil {
		return nil, fmt.Errorf("%s env GOFLAGS: %w", goProgram, err)
	}
	return []string{"GOWORK=off", "GOFLAGS=" + strings.TrimSpace(string(flags)) + " -buildvcs=false"}, nil
}

func (g golang) compile(ctx context.Context, p project.Project, file string, o Options) error {
	args := []string{"build", "-trimpath", "-buildmode=c-shared", "-o", absolute(file)}
	if !o.Debug {
		args = append(args, "-ldflags=-s -w")
	}
	return run(ctx, p, o, g.environ, g.program, append(args, ".")...)
}
