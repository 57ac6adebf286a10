// SPDX-License-Identifier: MIT

//go:build !race

package plugins

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

const gallery = "../../plugins/script/gallery"

// script is a script of the gallery as a request names it, with config in place of its example's
// configuration where that is not empty.
func script(t *testing.T, name, config string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(gallery, name+".js")) //nolint:gosec // of our tree
	if err != nil {
		t.Fatal(err)
	}
	if _, example, ok := strings.Cut(string(source), "\n// config: "); ok && config == "" {
		config, _, _ = strings.Cut(example, "\n")
	}
	fields := map[string]any{"name": name}
	if config != "" {
		fields["config"] = json.RawMessage(config)
	}
	return scripted(t, string(source), fields)
}

func answered(t *testing.T, h *host.Host, question, fields string) (said, string) {
	t.Helper()
	return ask(t, h, `{"messages":[{"role":"user","content":"`+question+`"}],"max_tokens":120,"temperature":0,"seed":5`+fields+`}`)
}

// What each script of the gallery says that it does, the built-in model does with it.
func TestGallery_BuiltInModel_ObeysEachScript(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	const story, count, plugin = "Tell me a story about a frog.", "Count from 1 to 10.", "What is a plugin?"
	plain := map[string]said{}
	for _, question := range []string{story, count, plugin} {
		plain[question], _ = answered(t, h, question, "")
	}
	names := regexp.MustCompile(`\b[A-Z][a-z]+\b`)
	twice := func(words []string) bool {
		slices.Sort(words)
		return len(slices.Compact(slices.Clone(words))) < len(words)
	}
	lines := func(r said) []string { return strings.Split(strings.TrimSpace(r.text), "\n") }
	cases := map[string]struct {
		config, question string // "": the example's, the story
		obeys            func(r said) bool
	}{
		"acrostic": {"", "", func(r said) bool {
			initials := ""
			for _, line := range lines(r) {
				initials += strings.ToUpper(line[:1])
			}
			return initials == "FROG"
		}},
		"at-least":    {`{"tokens":100}`, plugin, func(r said) bool { return r.tokens >= 100 && plain[plugin].tokens < 100 }},
		"ban-phrases": {`{"phrases":["once upon","frog"]}`, "", func(r said) bool { return !regexp.MustCompile(`(?i)once upon|frog`).MatchString(r.text) }},
		"best-of-3":   {"", "", func(r said) bool { return r.text != "" && r.text != plain[story].text }},
		"bullets": {"", "", func(r said) bool {
			return len(lines(r)) > 2 && !slices.ContainsFunc(lines(r), func(s string) bool { return !strings.HasPrefix(s, "- ") && s != "-" })
		}},
		"choose-one":          {"", "", func(r said) bool { return slices.Contains([]string{"Yes.", "No.", "It depends."}, r.text) }},
		"doubts":              {"", "", func(r said) bool { return r == plain[story] }}, // its notes: TestGallery_BuiltInModel_TellsAndQuotes
		"entropy-temperature": {`{"min":0.01,"max":0.01}`, "", func(r said) bool { return r == plain[story] }},
		"force-prefix":        {"", "", func(r said) bool { return strings.HasPrefix(r.text, "In a dark wood, ") }},
		"hide-words": {`{"pattern":"frog"}`, "", func(r said) bool {
			return r.text == strings.ReplaceAll(plain[story].text, "frog", "[hidden]") && r.text != plain[story].text && r.tokens == plain[story].tokens
		}},
		"instruction": {"", "", func(r said) bool { return r.prompt > plain[story].prompt }},
		"lipogram":    {"", "", func(r said) bool { return r.tokens > 10 && !strings.ContainsAny(r.text, "eE") }},
		"no-digits":   {"", count, func(r said) bool { return !strings.ContainsAny(r.text, "0123456789") && r != plain[count] }},
		"no-loops": {`{"tokens":2}`, "", func(r said) bool {
			return strings.Count(r.text, ". Ivy") < 2 && strings.Count(plain[story].text, ". Ivy") > 2
		}},
		"no-repeat-name": {"", "", func(r said) bool {
			return !twice(names.FindAllString(r.text, -1)) && twice(names.FindAllString(plain[story].text, -1))
		}},
		"one-alphabet":     {`{"script":"Greek"}`, "", func(r said) bool { return !regexp.MustCompile(`[A-Za-z]`).MatchString(r.text) }},
		"reasoning-budget": {"", "", func(r said) bool { return r == plain[story] }}, // there is none: TestGallery_ReasoningBudget_EndsIt
		"sentences":        {"", "", func(r said) bool { return strings.Count(r.text, ".") == 2 }},
		"verbatim-quotes":  {"", "", func(r said) bool { return r == plain[story] }}, // it quotes nothing here
		"vote":             {"", "", func(r said) bool { return r.text != "" }},
		"watermark":        {`{"key":7,"delta":20}`, "", func(r said) bool { return r.text != plain[story].text }},
	}
	files, err := filepath.Glob(filepath.Join(gallery, "*.js"))
	if err != nil || len(files) != len(cases) {
		t.Errorf("the gallery has %d scripts, %d are tried: %v", len(files), len(cases), err)
	}
	for name, c := range cases {
		question := c.question
		if question == "" {
			question = story
		}
		t.Run(name, func(t *testing.T) {
			if r, _ := answered(t, h, question, `,"plugins":[`+script(t, name, c.config)+`]`); !c.obeys(r) {
				t.Errorf("%+v, and without it %+v", r, plain[question])
			}
		})
	}
}

// What scripts of the gallery tell, and what one does to an answer that another began.
func TestGallery_BuiltInModel_TellsAndQuotes(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	const question = "Tell me a story about a frog."
	if _, body := answered(t, h, question, `,"trace":true,"plugins":[`+script(t, "doubts", "")+`]`); !regexp.MustCompile(`"notes":\[{"by":"plugin:doubts","text":"sure to \d+ %"}\]`).MatchString(body) {
		t.Errorf("there is no note in %.2000s", body)
	}
	if _, body := answered(t, h, question, `,"plugins":[`+script(t, "vote", "")+`]`); !strings.Contains(body, `"plugin":"vote"`) || !strings.Contains(body, `"votes":[`) {
		t.Errorf("there are no votes in %s", body)
	}
	began := script(t, "force-prefix", `{"prefix":"You said \"a"}`)
	free, _ := answered(t, h, question, `,"plugins":[`+began+`]`)
	bound, _ := answered(t, h, question, `,"plugins":[`+began+`,`+script(t, "verbatim-quotes", "")+`]`)
	invented := func(r said) bool {
		for i, part := range strings.Split(r.text, `"`) {
			if i%2 == 1 && !strings.Contains(question, part) {
				return true
			}
		}
		return false
	}
	if !invented(free) || invented(bound) {
		t.Errorf("%+v, and verbatim %+v", free, bound)
	}
}

// A script of the gallery ends the reasoning after so many tokens; the rest is content.
func TestGallery_ReasoningBudget_EndsIt(t *testing.T) {
	found, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/Qwen-Qwen3-0.6B.jinja")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	h := hosts.OpenWithPlugins(t, map[string]any{"chat.template_file": found[0]}, nil)
	reasoned := func(tokens int) (reasoning, content string) {
		status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", fmt.Sprintf(`{"max_tokens":40,"temperature":0,"seed":1,"ignore_eos":true,
			"chat_template_kwargs":{"enable_thinking":true},"reasoning_format":"deepseek",
			"messages":[{"role":"user","content":"Tell me a story about a frog."},{"role":"assistant","content":"<think>\nOnce"}],
			"plugins":[%s]}`, script(t, "reasoning-budget", fmt.Sprintf(`{"tokens":%d}`, tokens))))
		var answer struct {
			Choices []struct {
				Message struct {
					Content          string
					ReasoningContent string `json:"reasoning_content"`
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
			t.Fatal(status, body)
		}
		m := answer.Choices[0].Message
		return m.ReasoningContent, m.Content
	}
	few, content := reasoned(3)
	more, _ := reasoned(12)
	if content == "" || len(more) <= len(few) || !strings.HasPrefix(more, strings.TrimSpace(few)) {
		t.Errorf("3 tokens reason %q and say %q; 12 reason %q", few, content, more)
	}
}
