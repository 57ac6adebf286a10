// SPDX-License-Identifier: MIT

package native

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
)

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func TestSetLogger_LinesWithLevels(t *testing.T) {
	t.Cleanup(func() { SetLogger(slog.New(slog.DiscardHandler)) })
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var out lines
		SetLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
		loadBuiltIn(t, ModelOptions{})
		text := out.text.String()
		if got := strings.Contains(text, "level=DEBUG") && strings.Contains(text, "source=llama.cpp") && strings.Contains(text, "general.name"); got != want {
			t.Errorf("at level %v: %q", level, text)
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, `msg=""`) || strings.Contains(line, `\n`) || strings.Contains(line, `msg=.`) {
				t.Errorf("not a whole line: %s", line)
			}
		}
	}
}

// GPU backends log while llama.cpp starts, before a logger could be set: that must not crash, and
// no line may be lost.
func TestSetLogger_LinesBefore_ComeLater(t *testing.T) {
	logger.Store(nil)
	early.lines = nil
	t.Cleanup(func() { SetLogger(slog.New(slog.DiscardHandler)) })
	logged(4, "no device was found")
	logged(2, "one device was found")
	for range 2 * maxEarlyLines {
		logged(1, "chatter")
	}
	var out lines
	SetLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	text := out.text.String()
	if !strings.HasPrefix(text, "time=") || !strings.Contains(text, `level=ERROR msg="no device was found" source=llama.cpp`) ||
		!strings.Contains(text, `level=DEBUG msg="one device was found"`) {
		t.Errorf("the logger got %q", text)
	}
	if n := strings.Count(text, "\n"); n != maxEarlyLines {
		t.Errorf("%d lines were kept, want %d", n, maxEarlyLines)
	}
	var second lines
	SetLogger(slog.New(slog.NewTextHandler(&second, nil)))
	if text := second.text.String(); text != "" {
		t.Errorf("the next logger got %q again", text)
	}
}
