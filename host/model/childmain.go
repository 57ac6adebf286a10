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

// ChildMain makes this process the child that tries models or kernels if it was started as one; it
// never returns then. A program that calls Check begins its main with it, its tests their
// TestMain.
func ChildMain() {
	tryKernels()
	limit, ok := os.LookupEnv(modelChildEnv)
	if !ok {
		return
	}
	if err := serveParent(limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveParent answers requests from standard input until it ends.
func serveParent(limit string) error {
	bytes, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is %q, not a number of bytes", modelChildEnv, limit)
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
