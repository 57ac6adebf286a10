// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/native/gguf"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func TestOptions_Template(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	marked, onlyMark := file("marked.jinja", "\ufeff{{ 3 }}"), file("only.jinja", "\ufeff\n")
	beside, given, empty := file("beside.jinja", "{{ 1 }}"), file("given.jinja", "{{ 2 }}"), file("empty.jinja", " \n")
	for name, c := range map[string]struct {
		o    CheckOptions
		path string
		want Template
		says string
	}{
		"none":                       {path: "alone.gguf"},
		"beside":                     {path: "beside.gguf", want: Template{"{{ 1 }}", beside}},
		"beside a model in parts":    {path: "beside-00001-of-00002.gguf", want: Template{"{{ 1 }}", beside}},
		"a file":                     {o: CheckOptions{TemplateFile: given}, path: "beside.gguf", want: Template{"{{ 2 }}", given}},
		"a file as the template":     {o: CheckOptions{Template: given}, path: "alone.gguf", want: Template{"{{ 2 }}", given}},
		"a name":                     {o: CheckOptions{Template: "llama3"}, path: "beside.gguf", want: Template{Source: "llama3"}},
		"Jinja":                      {o: CheckOptions{Template: "{% if x %}"}, path: "alone.gguf", want: Template{Source: "{% if x %}"}},
		"a wrong name":               {o: CheckOptions{Template: "lama3"}, path: "alone.gguf", says: "chatml"},
		"a file that is not there":   {o: CheckOptions{TemplateFile: "nowhere.jinja"}, path: "alone.gguf", says: "nowhere.jinja"},
		"a byte order mark":          {o: CheckOptions{TemplateFile: marked}, path: "alone.gguf", want: Template{"{{ 3 }}", marked}},
		"nothing but the mark":       {o: CheckOptions{TemplateFile: onlyMark}, path: "alone.gguf", says: "empty"},
		"an empty file":              {o: CheckOptions{TemplateFile: empty}, path: "alone.gguf", says: "empty"},
		"a folder beside the others": {o: CheckOptions{TemplateFile: dir}, path: "alone.gguf", says: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.o.template(filepath.Join(dir, c.path))
			if c.says != "" {
				if !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want an ErrTemplate that says %q", err, c.says)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A file's template is tried in a child as the model's own is, and an error says where it is wrong
// and what to do.
func TestCheck_HostileTemplateFiles_AreNamed(t *testing.T) {
	path := withTemplate(t, "{{ messages }}")
	for name, c := range map[string]struct {
		source string
		says   []string
	}{
		"broken":  {"{% for m in messages %}\n{{ m.content", []string{"line 2", "--chat-template"}},
		"endless": {"{% for i in range(99999) %}{% for j in range(99999) %}{{ i * j }}{% endfor %}{% endfor %}", []string{"without end"}},
		"deep":    {"{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", []string{"--chat-template"}},
	} {
		if name == "deep" && !steadytest.Long() {
			continue // it takes seconds, and ends a child as a model's own does
		}
		t.Run(name, func(t *testing.T) {
			file := store(t, "hostile.jinja", []byte(c.source))
			_, err := Check(t.Context(), path, CheckOptions{CacheDir: t.TempDir(), TemplateFile: file, Timeout: patienceWith(name)})
			for _, says := range append(c.says, file) {
				if !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), says) {
					t.Errorf("got %v, want an ErrTemplate that says %q", err, says)
				}
			}
		})
	}
	if _, err := Check(t.Context(), path, CheckOptions{CacheDir: t.TempDir(), Template: "llama3"}); err != nil {
		t.Error(err)
	}
}

// What a template makes use of is told from its text where the model is not loaded.
func TestUses(t *testing.T) {
	for template, want := range map[string][2]bool{
		"{% for m in messages %}{{ m.content }}{% endfor %}":                   {false, false},
		"{% if tools %}{{ tools | tojson }}{% endif %}":                        {true, false},
		"{% if enable_thinking %}<think>{% endif %}{% if tools %}x{% endif %}": {true, true},
		"{{ toolset }}": {false, false},
	} {
		if tools, thinks := Uses(template); tools != want[0] || thinks != want[1] {
			t.Errorf("%s: tools %v, thinking %v", template, tools, thinks)
		}
	}
}

func withTemplate(t *testing.T, source string) string {
	t.Helper()
	return store(t, "t.gguf", edited(t, func(h *gguf.Header) { h.Set("tokenizer.chat_template", gguf.NewString(source)) }))
}

// patienceWith is how long a template of a test may take. Only one without end is waited for as
// long.
func patienceWith(template string) time.Duration {
	if template == "endless" {
		return 4 * time.Second
	}
	return 2 * time.Minute
}

func TestCheck_HostileTemplates_AreNamed(t *testing.T) {
	for name, c := range map[string]struct{ source, says string }{
		"broken":  {"{% for m in messages %}{{ m.content", "chat template"},
		"endless": {"{% for i in range(99999) %}{% for j in range(99999) %}{{ i * j }}{% endfor %}{% endfor %}", "without end"},
		"deep":    {"{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}", "tokenizer.chat_template"},
	} {
		t.Run(name, func(t *testing.T) {
			path := withTemplate(t, c.source)
			_, err := Check(t.Context(), path, CheckOptions{CacheDir: t.TempDir(), Timeout: patienceWith(name)})
			if !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("got %v, want ErrTemplate that says %q and names the file", err, c.says)
			}
		})
	}
}

func TestRunModelTrial_TemplateOverItsCost(t *testing.T) {
	_, err := runModelTrial(request{Path: withTemplate(t, "{{ messages }}")}, templateLimits{total: time.Hour})
	if !errors.Is(err, errTemplate) || !strings.Contains(err.Error(), "for one line") {
		t.Errorf("got %v", err)
	}
}

// Such a template serves other conversations.
func TestCheck_TemplateThatRefusesOneMessage_IsFine(t *testing.T) {
	path := withTemplate(t, "{% if messages|length < 2 %}{{ raise_exception('a system message must come first') }}{% endif %}"+
		"{% for m in messages %}{{ m.content }}{% endfor %}")
	if _, err := Check(t.Context(), path, CheckOptions{CacheDir: t.TempDir()}); err != nil {
		t.Error(err)
	}
}
