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
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/penstock/penstock/host/excerpt"
	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/native"
)

// hello is the child's first line, and marker begins each answer: whatever else is printed to its
// standard output is skipped.
const (
	marker    = "penstock-probe:"
	hello     = marker + "ready"
	stageMark = "stage " // and the name of what the child does next
)

// request asks the child to try a file, or for what touches a GPU.
type request struct {
	Task      string                  `json:"task,omitempty"` // one of the tasks below; empty: try the file on the CPU
	Path      string                  `json:"path,omitempty"`
	Lacks     Lacks                   `json:"lacks,omitempty"`     // what is known and not tried again
	Adapter   string                  `json:"adapter,omitempty"`   // for adapterTask
	Projector string                  `json:"projector,omitempty"` // for projectorTask
	Encoding  native.ProjectorOptions `json:"encoding,omitzero"`   // likewise
	Template  Template                `json:"template,omitzero"`   // to try instead of the file's own
	options                           // of what is tried
	Model     *native.ModelOptions    `json:"model,omitempty"`   // for dryRunTask
	Context   *native.ContextOptions  `json:"context,omitempty"` // likewise; nil: only what the model is
	Timeout   time.Duration           `json:"timeout"`           // after which the child ends itself, in case the parent cannot
}

const (
	surveyTask    = "survey"    // of what llama.cpp finds to compute on
	gpuTask       = "gpu"       // compute with layers of the file there
	adapterTask   = "adapter"   // compute with the file and an adapter on the CPU
	projectorTask = "projector" // encode with a projector, and compute with the file what comes of that
	dryRunTask    = "dry run"   // what llama.cpp says using the model takes
)

// answer is what the child found; where the error is empty, nothing was wrong.
type answer struct {
	Lacks   Lacks            `json:"lacks,omitempty"`
	Machine Machine          `json:"machine,omitzero"`
	Info    native.ModelInfo `json:"info,omitzero"`
	Need    Need             `json:"need,omitempty"`

	Projector ProjectorTrial `json:"projector,omitzero"` // for projectorTask

	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"` // of error: one of the kinds below, or empty for any other
}

const (
	kindArchitecture = "architecture" // llama.cpp does not know it
	kindMemory       = "memory"       // there was not enough
	kindTemplate     = "template"     // the chat template's fault
	kindOptions      = "options"      // the options' fault
)

// newStderr keeps the end of what a child prints to its standard error.
func newStderr() *excerpt.Tail { return excerpt.NewTail(64 << 10) }

// child is a process that tries one file after the other until one makes it end.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *excerpt.Tail
	stage  string // what the child last said it does, beyond loading and computing each sequence alone
	waited bool
	err    error // of the wait
}

// startChild starts this program again as a child. It knows nothing of the parent but the paths it
// is given.
func startChild(ctx context.Context, memory uint64) (*child, error) {
	program, err := os.Executable()
	if err != nil || spawn.Is(childCommand) {
		return nil, errors.Join(ErrNoChild, err)
	}
	p := &child{cmd: exec.Command(program, childCommand, tryModels, strconv.FormatUint(memory, 10)), stderr: newStderr()}
	// A trial must not wait for gdb, which llama.cpp starts to print a stack when it aborts.
	p.cmd.Env = append(os.Environ(), spawn.Mark(childCommand), kernelSet(), "GGML_NO_BACKTRACE=1", "GOTRACEBACK=none")
	p.cmd.Stderr = p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the trial: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the trial: %w", err)
	}
	p.out = bufio.NewReader(out)
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the trial: %w", err)
	}
	line, err := p.read(ctx, time.Minute)
	if err == nil && line == hello {
		return p, nil
	}
	err = errors.Join(fmt.Errorf("%w: %s", ErrNoChild, p.stderr.LastWords()), context.Cause(ctx))
	return nil, errors.Join(err, p.close())
}

// tryModel lets the child try the file of a request, of which some lacks are known, and returns
// all. After ErrCrashed or ErrTimeout, and when ctx is done, the child is gone, and stage says
// what it did last.
func (p *child) tryModel(ctx context.Context, r request) (Lacks, error) {
	a, err := p.ask(ctx, r)
	return a.Lacks, err
}

// ask has the child do what a request says. After an error the child is as after one of tryModel.
func (p *child) ask(ctx context.Context, r request) (a answer, err error) {
	crashed := ErrCrashed
	if r.Task == surveyTask || r.Task == gpuTask {
		crashed = ErrGPU
	}
	p.stderr.Reset()
	p.stage = ""
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return a, fmt.Errorf("%w: before the trial began: %s", crashed, p.lastWords())
	}
	text, err := p.read(ctx, r.Timeout)
	switch {
	case context.Cause(ctx) != nil && err != nil:
		return a, fmt.Errorf("trying the model: %w", context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return a, fmt.Errorf("%w (%v)", ErrTimeout, r.Timeout)
	case err != nil && p.stage == templateStage:
		return a, badTemplate(r.Template.name() + ": " + p.lastWords())
	case err != nil:
		return a, fmt.Errorf("%w: %s", crashed, p.lastWords())
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, marker)), &a); err != nil {
		return a, fmt.Errorf("reading the trial's answer %q: %w", text, err)
	}
	return a, a.err()
}

// askOnce starts a child for one request about a GPU. What a driver reserves may be far more than
// memory, so it is not limited.
func askOnce(ctx context.Context, r request) (a answer, err error) {
	p, err := startChild(ctx, 0)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return p.ask(ctx, r)
}

func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Kind == kindArchitecture:
		return fmt.Errorf("%w: %s", ErrUnknownArchitecture, a.Error)
	case a.Kind == kindMemory:
		return fmt.Errorf("%w: %s", ErrTooLarge, a.Error)
	case a.Kind == kindTemplate:
		return badTemplate(a.Error)
	case a.Kind == kindOptions:
		return fmt.Errorf("%w: %s", errOptions, strings.TrimPrefix(a.Error, errOptions.Error()+": "))
	default:
		return fmt.Errorf("%w: %s", ErrRefused, a.Error)
	}
}

// read returns the child's next line with the marker other than announcements of a stage, which it
// notes. When the time is up or ctx is done it kills the child.
func (p *child) read(ctx context.Context, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			return "", err
		}
		stage, isStage := strings.CutPrefix(line, marker+stageMark)
		switch {
		case isStage:
			p.stage = strings.TrimSpace(stage)
		case strings.HasPrefix(line, marker):
			return strings.TrimSpace(line), nil
		}
	}
}

// lastWords waits for the end of a child that crashed and returns the last it said, or how it
// ended.
func (p *child) lastWords() string {
	p.wait()
	if words := p.stderr.LastWords(); words != "" {
		return words
	}
	return p.cmd.ProcessState.String()
}

func (p *child) wait() {
	if !p.waited {
		p.waited, p.err = true, p.cmd.Wait()
	}
}

// alive reports whether the child can try another file.
func (p *child) alive() bool { return !p.waited }

// close ends the child. The only error is that it cannot be ended: how it ends does not matter any
// more.
func (p *child) close() error {
	err := p.in.Close() // at the end of its input the child exits
	if p.waited {
		return nil
	}
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	p.wait()
	return err
}

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
