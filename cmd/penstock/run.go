// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/author/project"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/spf13/cobra"
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
	options, err := flags.answerOptions()
	if err != nil {
		return usageError{err}
	}
	if options.files, err = flags.attach(); err != nil {
		return err
	}
	options.limits = host.MediaOptions(cfg.Media)
	chatting := prompt == "" && isTerminal(cmd.InOrStdin())
	if prompt == "" && !chatting {
		if prompt, err = readPrompt(cmd.InOrStdin()); err != nil {
			return err
		}
	}
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	s, err := openLocalModel(ctx, cfg, quietLogger(cmd.ErrOrStderr(), cfg), newProgress(cmd.ErrOrStderr(), modelName(cfg)).show)
	if err != nil {
		return err
	}
	if chatting {
		err = converse(cmd, s.answer(options), options.files.markers(), stop)
	} else {
		err = answerOnce(ctx, cmd.OutOrStdout(), s.answer(options), options.files.markers()+prompt)
	}
	return errors.Join(err, s.Close())
}

// converse chats until the user leaves; before stands in front of the first question. An interrupt
// has ended the program so far; from release on it ends an answer only.
func converse(cmd *cobra.Command, answer answerer, before string, release func()) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	release()
	r := repl{
		readLine: terminalLines(cmd.InOrStdin().(*os.File), cmd.ErrOrStderr()), answer: answer, before: before, interrupts: interrupts,
		out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(),
	}
	return r.run(cmd.Context())
}

func answerOnce(ctx context.Context, out io.Writer, answer answerer, prompt string) error {
	text, err := answer(ctx, []chat.Message{{Role: "user", Content: prompt}}, func(text string) error {
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

// answerOptions checks the flags and turns them into options.
func (f runFlags) answerOptions() (answerOptions, error) {
	if f.maxTokens < 0 {
		return answerOptions{}, fmt.Errorf("--max-tokens is %d; it must be 0 or more", f.maxTokens)
	}
	o := answerOptions{common: completion.DefaultCommonFields(), maxTokens: f.maxTokens, raw: f.raw}
	var err error
	o.common.Plugins, err = scriptsIn(f.scripts)
	return o, err
}

// scriptsIn are the plugins of a request with the scripts of some files, which are called as those;
// nil: there are none.
func scriptsIn(files []string) (json.RawMessage, error) {
	type entry struct {
		Script string `json:"script"`
		Name   string `json:"name"`
	}
	var list []entry
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--script: %w", err)
		}
		list = append(list, entry{string(source), project.ScriptName(file)})
	}
	if list == nil {
		return nil, nil
	}
	return json.Marshal(list)
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
