// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/template"
	"github.com/penstock/penstock/native"
)

// Template is a chat template that replaces a model's own. The zero value is the model's own.
type Template struct {
	Source string `json:"source"` // Jinja, or one of native.TemplateNames
	From   string `json:"from"`   // the file that it was read from; "": it was given as it is
}

// name names the template in errors.
func (t Template) name() string {
	switch {
	case t.Source == "":
		return "the chat template in the file (tokenizer.chat_template)"
	case t.From == "":
		return "the chat template of chat.template"
	}
	return "the chat template " + t.From
}

// badTemplate makes an ErrTemplate that says what can be done.
func badTemplate(reason string) error {
	return fmt.Errorf("%w: %s; fix it, or choose another with --chat-template NAME or --chat-template-file FILE", ErrTemplate, reason)
}

// template finds the template that a model is to be served with.
func (o CheckOptions) template(path string) (Template, error) {
	switch text := o.Template; {
	case o.found != nil:
		return *o.found, nil
	case o.TemplateFile != "":
		return readTemplate(o.TemplateFile)
	case text == "":
		return templateBeside(path)
	case strings.Contains(text, "{{") || strings.Contains(text, "{%"), slices.Contains(native.TemplateNames(), text):
		return Template{Source: text}, nil
	case isFile(text):
		return readTemplate(text)
	}
	return Template{}, fmt.Errorf("%w: %q (chat.template) is no file, no Jinja and none of %s", ErrTemplate, o.Template, strings.Join(native.TemplateNames(), ", "))
}

// TemplateOf is the chat template that a model's file is served with besides its own; "": its own,
// or one that cannot be read.
func (o CheckOptions) TemplateOf(path string) string {
	t, err := o.template(path)
	if err != nil {
		return ""
	}
	return t.Source
}

// Uses tells what a chat template makes use of, as its text says, for a model that is not loaded:
// llama.cpp knows it better, and takes the time of rendering it to tell.
func Uses(template string) (tools, thinking bool) {
	for _, word := range []string{"enable_thinking", "<think>", "reasoning_content", "[THINK]", "<|channel|>analysis"} {
		thinking = thinking || strings.Contains(template, word)
	}
	return toolsWord.MatchString(template), thinking
}

// toolsWord is the name by which templates are told of tools.
var toolsWord = regexp.MustCompile(`\b(tools|functions)\b`)

// templateBeside reads NAME.jinja beside NAME.gguf, where NAME lacks the number of a part.
func templateBeside(path string) (Template, error) {
	n, ok := library.SplitName(path)
	if !ok {
		return Template{}, nil
	}
	t, err := readTemplate(n.Model + ".jinja")
	if errors.Is(err, fs.ErrNotExist) {
		return Template{}, nil
	}
	return t, err
}

// byteOrderMark begins the files of some editors. Prompts are not to begin with it.
const byteOrderMark = "\ufeff"

// readTemplate reads a file that is not empty: an empty template would be the model's own.
func readTemplate(path string) (Template, error) {
	source, err := os.ReadFile(path)
	switch {
	case err != nil:
		return Template{}, fmt.Errorf("%w: it cannot be read: %w", ErrTemplate, err)
	case strings.TrimSpace(strings.TrimPrefix(string(source), byteOrderMark)) == "":
		return Template{}, badTemplate("the chat template " + path + " is empty")
	}
	return Template{Source: strings.TrimPrefix(string(source), byteOrderMark), From: path}, nil
}

// templateLimits bounds the time of a template. A chat template is a program by the author of the
// file. It may loop, recurse or fill the memory, and nothing ends it from inside, so the child runs
// it once before the host does.
type templateLimits struct {
	total   time.Duration // to parse and analyse it, and to render a conversation twice
	oneLine time.Duration // to render one line of conversation: every request pays that
}

var defaultTemplateLimits = templateLimits{total: 10 * time.Second, oneLine: time.Second}

// badTrial adds the template's name to the error of its trial.
type badTrial struct {
	name string
	error
}

func (e badTrial) Error() string {
	return e.name + ": " + strings.TrimPrefix(e.error.Error(), "chat template: ")
}
func (e badTrial) Is(target error) bool { return target == errTemplate }
func (e badTrial) Unwrap() error        { return e.error }

// templateStage is what the child announces before the template is tried.
const templateStage = "template"

var errTemplate = errors.New("the chat template fails")

// tryTemplate builds a template, the model's own if it is empty, renders a conversation and
// measures the second time. It ends the process when the time for all is up. That the template
// refuses this conversation is no fault: others will suit it.
func tryTemplate(m *native.Model, tried Template, limit templateLimits) (err error) {
	defer func() {
		if err != nil {
			err = badTrial{tried.name(), err}
		}
	}()
	watchdog := time.AfterFunc(limit.total, func() {
		fmt.Fprintf(os.Stderr, "it renders without end; it was stopped after %v\n", limit.total)
		os.Exit(1)
	})
	defer watchdog.Stop()
	t, err := template.New(m, tried.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	hello := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"Hello"}]`), AddGenerationPrompt: true}
	var took time.Duration
	for range 2 {
		begin := time.Now()
		if _, err := t.Render(context.Background(), hello); errors.Is(err, native.ErrNoMemory) {
			return err
		}
		took = time.Since(begin)
	}
	if took > limit.oneLine {
		return fmt.Errorf("it takes %v for one line; at most %v is accepted", took.Round(time.Millisecond), limit.oneLine)
	}
	return nil
}
