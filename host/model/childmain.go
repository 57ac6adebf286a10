// SPDX-License-Identifier: MIT

package model

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/native"
)

// childCommand is the command with which this program starts itself to try what may end a process,
// tryModels with the bytes that it may allocate (0: no limit), or tryKernels with their list.
const (
	childCommand = "try"
	tryModels    = "models"
	tryKernels   = "kernels"
)

// Child returns the command by which this program tries models and kernels in a child process, and
// what carries it out and returns the exit code. A program that calls Check has the command.
func Child() (command string, run func(args []string) int) { return childCommand, runChild }

func runChild(args []string) int {
	err := fmt.Errorf("%s has %q; it is what Penstock starts itself with", childCommand, args)
	if len(args) == 2 {
		switch args[0] {
		case tryModels:
			err = serveParent(args[1])
		case tryKernels:
			err = checkKernels(args[1])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveParent answers requests from standard input until it ends.
func serveParent(limit string) error {
	bytes, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return fmt.Errorf("the limit is %q, not a number of bytes", limit)
	}
	if bytes > 0 {
		bytes += native.TemplateStack // which counts, though next to nothing of it is used
	}
	limitProcess(bytes)
	if err := adoptKernels(); err != nil {
		return err
	}
	native.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	fmt.Println(hello)
	in := bufio.NewReader(os.Stdin)
	dry := &dryRuns{}
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		// A parent that was killed cannot end a child that hangs.
		watchdog := time.AfterFunc(r.Timeout+10*time.Second, func() { os.Exit(1) })
		reply, err := json.Marshal(answerRequest(r, dry))
		watchdog.Stop()
		if err != nil {
			return err
		}
		fmt.Printf("%s%s\n", marker, reply)
	}
}

func answerRequest(r request, dry *dryRuns) answer {
	limit := defaultTemplateLimits
	limit.total = min(limit.total, r.Timeout/2)
	var a answer
	var err error
	switch r.Task {
	case surveyTask:
		a.Machine, err = survey()
	case gpuTask:
		err = computeOnGPU(r.Path, r.options)
	case adapterTask:
		err = tryAdapter(r.Path, r.Adapter, r.options)
	case projectorTask:
		a.Projector, err = tryProjector(r)
	case dryRunTask:
		a, err = dry.answer(r)
	default:
		a.Lacks, err = runModelTrial(r, limit)
	}
	if err == nil {
		return a
	}
	reason := excerpt.Of(strings.ReplaceAll(err.Error(), "load "+r.Path+": ", ""), longestReason)
	a.Error = reason
	switch {
	case strings.Contains(reason, "unknown model architecture"):
		a.Kind = kindArchitecture
	case errors.Is(err, errTemplate):
		a.Kind = kindTemplate
	case errors.Is(err, errOptions):
		a.Kind = kindOptions
	case errors.Is(err, native.ErrNoMemory), errors.Is(err, native.ErrTooLarge):
		a.Kind = kindMemory
	}
	return a
}

// longestReason is how many bytes of an error the parent is told: llama.cpp lists every damaged
// tensor.
const longestReason = 600

// runModelTrial loads a model, does with it what serving will do and tries the chat template. It
// ends the process if llama.cpp does, or the template takes longer than templates may. What it
// returns are lacks and those it found.
func runModelTrial(r request, limits templateLimits) (lacks Lacks, err error) {
	r.Loading.CheckTensors = true
	m, err := native.LoadModel(context.Background(), r.Path, r.Loading)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	lacks = r.Lacks
	if m.Info().Generates() {
		if lacks, err = runExercises(m, r.options, r.Lacks, announce); err != nil {
			return nil, err
		}
	}
	if lacks, err = runEmbeddingExercises(m, lacks, announce); err != nil {
		return nil, err
	}
	announce(templateStage)
	return lacks, tryTemplate(m, r.Template, limits)
}

// announce tells the parent what comes next.
func announce(stage string) { fmt.Println(marker + stageMark + stage) }
