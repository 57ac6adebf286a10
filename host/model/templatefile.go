// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/native"
)

// Template is a chat template that replaces a model's own. The zero value is the model's own.
type Template struct {
	Source string `json:"source"` // Jinja, or one of native.TemplateNames
	From   string `json:"from"`   // the file that it was read from; "": it was given as it is
}

// name is what errors call it.
func (t Template) name() string {
	switch {
	case t.Source == "":
		return "the chat template in the file (tokenizer.chat_template)"
	case t.From == "":
		return "the chat template of chat.template"
	}
	return "the chat template " + t.From
}

// badTemplate is an ErrTemplate that says what can be done.
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

// templateBeside is NAME.jinja beside NAME.gguf, where NAME is without the number of a part.
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
