// SPDX-License-Identifier: MIT

package model

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/native/gguf"
)

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
