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
	previous := logger.Load()
	t.Cleanup(func() { SetLogger(previous) })
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
