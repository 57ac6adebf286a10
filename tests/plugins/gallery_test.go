// SPDX-License-Identifier: MIT

//go:build !race

package plugins

import (
	"encoding/json"
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

// scripted is what an answer says with a script of the gallery in the request, in place of its
// example's configuration with config where that is not empty.
func scripted(t *testing.T, h *host.Host, script, config, question string) said {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(gallery, script+".js")) //nolint:gosec // of our tree
	if err != nil {
		t.Fatal(err)
	}
	if _, example, ok := strings.Cut(string(source), "\n// config: "); ok && config == "" {
		config, _, _ = strings.Cut(example, "\n")
	}
	text, err := json.Marshal(string(source))
	if err != nil {
		t.Fatal(err)
	}
	use := `{"script":` + string(text)
	if config != "" {
		use += `,"config":` + config
	}
	return answered(t, h, question, `,"plugins":[`+use+`}]`)
}

func answered(t *testing.T, h *host.Host, question, fields string) said {
	t.Helper()
	status, body := hosts.Post(t, h.URL()+"/v1/chat/completions",
		`{"messages":[{"role":"user","content":"`+question+`"}],"max_tokens":120,"temperature":0,"seed":5`+fields+`}`)
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
		Usage   struct {
			Prompt int `json:"prompt_tokens"`
			Tokens int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
		t.Fatalf("%.300s: %d %s", fields, status, body)
	}
	return said{answer.Choices[0].Message.Content, answer.Usage.Prompt, answer.Usage.Tokens}
}

// What each script of the gallery says that it does, the built-in model does with it.
func TestGallery_BuiltInModel_ObeysEachScript(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	const story, count, plugin = "Tell me a story about a frog.", "Count from 1 to 10.", "What is a plugin?"
	plain := map[string]said{}
	for _, question := range []string{story, count, plugin} {
		plain[question] = answered(t, h, question, "")
	}
	names := regexp.MustCompile(`\b[A-Z][a-z]+\b`)
	twice := func(words []string) bool {
		slices.Sort(words)
		return len(slices.Compact(slices.Clone(words))) < len(words)
	}
	lines := func(r said) []string { return strings.Split(strings.TrimSpace(r.text), "\n") }
	for script, c := range map[string]struct {
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
		"doubts":              {"", "", func(r said) bool { return r == plain[story] }}, // its notes are tried below
		"entropy-temperature": {`{"min":0.01,"max":0.01}`, "", func(r said) bool { return r == plain[story] }},
		"force-prefix":        {"", "", func(r said) bool { return strings.HasPrefix(r.text, "In a dark wood, ") }},
		"instruction":         {"", "", func(r said) bool { return r.prompt > plain[story].prompt }},
		"lipogram":            {"", "", func(r said) bool { return r.tokens > 10 && !strings.ContainsAny(r.text, "eE") }},
		"no-digits":           {"", count, func(r said) bool { return !strings.ContainsAny(r.text, "0123456789") && r != plain[count] }},
		"no-loops":            {`{"tokens":1}`, plugin, func(r said) bool { return strings.Count(r.text, " the") < 2 && r != plain[plugin] }},
		"no-repeat-name": {"", "", func(r said) bool {
			return !twice(names.FindAllString(r.text, -1)) && twice(names.FindAllString(plain[story].text, -1))
		}},
		"one-alphabet":     {`{"script":"Greek"}`, "", func(r said) bool { return !regexp.MustCompile(`[A-Za-z]`).MatchString(r.text) }},
		"reasoning-budget": {"", "", func(r said) bool { return r == plain[story] }}, // the model does not reason: see below
		"sentences":        {"", "", func(r said) bool { return strings.Count(r.text, ".") == 2 }},
		"verbatim-quotes":  {"", "", func(r said) bool { return r == plain[story] }}, // the model quotes nothing: see below
		"vote":             {"", "", func(r said) bool { return r.text != "" }},
		"watermark":        {`{"key":7,"delta":20}`, "", func(r said) bool { return r.text != plain[story].text }},
	} {
		question := c.question
		if question == "" {
			question = story
		}
		if r := scripted(t, h, script, c.config, question); !c.obeys(r) {
			t.Errorf("%s: %+v, and without it %+v", script, r, plain[question])
		}
	}
}
