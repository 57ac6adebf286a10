// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	local "github.com/penstock/penstock"
	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/telemetry"
)

// runFlags are the flags of `run` that are not configuration keys.
type runFlags struct {
	maxTokens int
	raw       bool
	images    []string // paths
	sounds    []string
	scripts   []string
}

func newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [MODEL] [PROMPT]",
		Short: "Chat in the terminal; with a PROMPT, or input that is piped in, one answer",
		Long: `Chat in the terminal. Ctrl-C stops an answer; Ctrl-C or Ctrl-D at the prompt leaves.

With a PROMPT, or with input that is piped in, there is one answer, on standard output. One
argument alone is a MODEL where it names one (a file or a name in the model folder), else a PROMPT.

The files of --image and --audio stand before the first question, for a model with a projector (--mmproj).`,
		Args: atMost(2),
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd, args, flags) },
	}
	addConfigFlags(cmd, "model", "models", "sampling", "plugins", "log")
	cmd.Flags().IntVar(&flags.maxTokens, "max-tokens", 0, "most tokens of an answer; 0: until the context is full")
	cmd.Flags().StringArrayVar(&flags.images, "image", nil, "picture to ask about: JPEG, PNG, GIF, WebP or BMP; several times for several")
	cmd.Flags().StringArrayVar(&flags.sounds, "audio", nil, "sound to ask about: WAV or MP3; several times for several")
	cmd.Flags().StringArrayVar(&flags.scripts, "script", nil, "script in JavaScript that steers the answers, a `FILE`; several times for several")
	cmd.Flags().BoolVar(&flags.raw, "raw", false, "give the model the text as it is, without its chat template")
	return cmd
}

func run(cmd *cobra.Command, args []string, flags runFlags) error {
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	modelArg, prompt := splitArguments(args, library.Open(cfg.Models.Dir))
	if modelArg != "" {
		cfg.Model.Path = modelArg
	}
	options, err := flags.options()
	if err != nil {
		return usageError{err}
	}
	files, err := flags.readMedia()
	if err != nil {
		return err
	}
	chatting := prompt == "" && isTerminal(cmd.InOrStdin())
	if prompt == "" && !chatting {
		if prompt, err = readPrompt(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	m, err := openAlone(ctx, cfg, local.Log(quietLogger(cmd.ErrOrStderr(), cfg)), local.Progress(newProgress(cmd.ErrOrStderr(), modelName(cfg)).show))
	if err != nil {
		return err
	}
	answer := answerer(func(ctx context.Context, messages []local.Message, show func(string) error) (string, error) {
		prompt := local.Prompt(local.Conversation(messages))
		if flags.raw {
			prompt = local.Text(messages[len(messages)-1].Content)
		}
		return streamAnswer(ctx, m, prompt, options, show)
	})
	if chatting {
		err = chatInTerminal(cmd, answer, files, stop)
	} else {
		err = answerOnce(ctx, cmd.OutOrStdout(), answer, local.Message{Role: "user", Content: prompt, Media: files})
	}
	return errors.Join(err, m.Close())
}

// openAlone loads the model of cfg for one user, with one slot.
func openAlone(ctx context.Context, cfg config.Config, options ...local.OpenOption) (*local.Model, error) {
	cfg.Scheduler.Slots = 1
	cfg.Embedding.Enabled, cfg.Embedding.Model, cfg.Rerank = false, "", config.Rerank{} // nobody asks for these in a terminal
	m, err := local.Open(ctx, cfg.Model.Path, append(options, local.Config(cfg))...)
	var failed *local.ModelError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return m, err
}

// streamAnswer shows an answer's text, all that the model writes, until its end.
func streamAnswer(ctx context.Context, m *local.Model, prompt local.Prompt, options []local.Option, show func(string) error) (string, error) {
	l, err := m.Live(ctx, prompt, options...)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for t, err := range l.Tokens() {
		if err != nil {
			return all.String(), err
		}
		all.WriteString(t.Text)
		if err := show(t.Text); err != nil {
			return all.String(), fmt.Errorf("write the answer: %w", err)
		}
	}
	return all.String(), nil
}

// chatInTerminal chats until the user leaves; files stand before the first question. An interrupt
// has ended the program so far; from release on it ends an answer only.
func chatInTerminal(cmd *cobra.Command, answer answerer, files []local.Media, release func()) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	release()
	r := repl{
		readLine: terminalLines(cmd.InOrStdin().(*os.File), cmd.ErrOrStderr()), answer: answer, files: files, interrupts: interrupts,
		out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(),
	}
	return r.run(cmd.Context())
}

func answerOnce(ctx context.Context, out io.Writer, answer answerer, question local.Message) error {
	text, err := answer(ctx, []local.Message{question}, func(text string) error {
		_, err := io.WriteString(out, text)
		return err
	})
	if text != "" && !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(out)
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

// splitArguments tells MODEL and PROMPT apart.
func splitArguments(args []string, models *library.Library) (modelArg, prompt string) {
	switch len(args) {
	case 0:
		return "", ""
	case 2:
		return args[0], args[1]
	}
	if namesModel(args[0], models) {
		return args[0], ""
	}
	return "", args[0]
}

// modelName is the name of a model that is not loaded yet.
func modelName(cfg config.Config) string { return cmp.Or(cfg.Model.Path, model.BuiltInName) }

func namesModel(arg string, models *library.Library) bool {
	if strings.HasSuffix(arg, ".gguf") || model.IsBuiltIn(arg) || slices.Contains(library.Stems(models.Folder), arg) {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

// readPrompt reads all of the input as a prompt.
func readPrompt(in io.Reader) (string, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	if prompt := strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")); prompt != "" { // a file may begin with the mark
		return prompt, nil
	}
	return "", usageError{errors.New("there is no prompt: give one as an argument or on standard input")}
}

// options checks the flags and turns them into options.
func (f runFlags) options() ([]local.Option, error) {
	if f.maxTokens < 0 {
		return nil, fmt.Errorf("--max-tokens is %d; it must be 0 or more", f.maxTokens)
	}
	var scripts []local.Plugin
	for _, file := range f.scripts {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--script: %w", err)
		}
		scripts = append(scripts, local.Plugin{Script: string(source), Name: project.ScriptName(file)})
	}
	return []local.Option{local.MaxTokens(f.maxTokens), local.Raw(), local.Plugins(scripts...)}, nil
}

// quietLogger shows warnings only, unless a level was asked for, so that they do not disturb a
// chat.
func quietLogger(out io.Writer, cfg config.Config) *slog.Logger {
	level := "warn"
	for _, s := range cfg.Settings() {
		if s.Key.Name == "log.level" && s.Origin != "default" {
			level = cfg.Log.Level
		}
	}
	return telemetry.NewLogger(out, telemetry.Level(level), cfg.Log.Format)
}

// readMedia reads the files of --image and --audio.
func (f runFlags) readMedia() (files []local.Media, err error) {
	for _, given := range []struct {
		flag  string
		paths []string
	}{{"--image", f.images}, {"--audio", f.sounds}} {
		for _, path := range given.paths {
			data, err := readFile(path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", given.flag, err)
			}
			files = append(files, local.Media{Name: given.flag + " " + path, Data: data})
		}
	}
	if len(files) > 0 && f.raw {
		return nil, usageError{errors.New("--raw gives the model a text alone; leave it out where there are files of --image and --audio")}
	}
	return files, nil
}

// mostFile is how many bytes a picture or a sound may have in the terminal.
const mostFile = 256 << 20

// readFile reads a file up to mostFile bytes.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // before Open, which waits on a pipe
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(data) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case len(data) > mostFile:
		return nil, fmt.Errorf("%s has more than %d MiB; scale it down", path, mostFile>>20)
	}
	return data, nil
}

// answerer computes the next turn of a conversation, hands its text to show piece by piece and
// returns all of it. If ctx ends first, it returns the text until then with ctx's error.
type answerer func(ctx context.Context, messages []local.Message, show func(text string) error) (string, error)

// repl is a conversation in a terminal.
type repl struct {
	readLine   func() (string, error) // io.EOF: the user leaves
	answer     answerer
	files      []local.Media    // stand before the first question
	interrupts <-chan os.Signal // each one ends an answer
	out        io.Writer        // answers
	notes      io.Writer        // everything but answers
}

// run reads and answers until the user leaves. An interrupt during an answer ends that answer only.
func (r *repl) run(ctx context.Context) error {
	var messages []local.Message
	for {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the terminal: %w", err)
		}
		if line == "" {
			continue
		}
		turn := append(messages, local.Message{Role: "user", Content: line})
		if len(messages) == 0 {
			turn[0].Media = r.files
		}
		text, err := r.interruptible(ctx, turn)
		fmt.Fprintln(r.out)
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Fprintln(r.notes, "(stopped)")
		case err != nil: // the question is removed, so that a shorter one may follow
			fmt.Fprintf(r.notes, "penstock: %v\n", err)
			continue
		}
		messages = append(turn, local.Message{Role: "assistant", Content: text})
	}
}

func (r *repl) interruptible(ctx context.Context, messages []local.Message) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-r.interrupts:
			stop()
		case <-ctx.Done():
		}
	}()
	return r.answer(ctx, messages, func(text string) error {
		_, err := io.WriteString(r.out, text)
		return err
	})
}

// terminalLines reads lines with editing and history. The terminal is raw only while a line is
// read: at the prompt Ctrl-C and Ctrl-D leave, and otherwise Ctrl-C is an interrupt.
func terminalLines(in *os.File, out io.Writer) func() (string, error) {
	screen := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "> ")
	return func() (string, error) {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(in.Fd()), state) }()
		return screen.ReadLine()
	}
}
