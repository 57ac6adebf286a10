// SPDX-License-Identifier: MIT

package agents

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/tools/must"
)

// task is what each agent is asked: it takes a call that reads, one that writes, one that edits,
// and an answer.
const task = "Read story.txt, write summary.txt, and give the frog a hat in story.txt."

const (
	before  = "There was a frog.\nIt had no hat.\n"
	after   = "There was a frog.\nIt had a \"hat\" & 1 <feather>.\n"
	summary = "A frog.\n\tA hat: {\"red\": true}, \\o/ 🐸\n"
)

// agent is a program that works with tools, or one of the APIs that it can use.
type agent struct {
	name    string
	calls   func(story, summaryPath string) []call // what the model calls
	command func(t *testing.T, w work) []string    // the program; it may write files into w.home

	whole bool // it asks once more, for a whole answer, where a stream fails that has begun
}

// work is where an agent does its task, and with whom.
type work struct{ url, model, home, dir string }

// write writes a file into the agent's home.
func (w work) write(t *testing.T, path, format string, args ...any) {
	t.Helper()
	path = filepath.Join(w.home, path)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600))
}

// program is the path of one that package.json names.
func program(t *testing.T, name string) string {
	t.Helper()
	return must.Get(filepath.Abs(filepath.Join("node_modules", ".bin", name)))(t)
}

var agents = []agent{
	{"claude-messages", filesBy("Read", "Write", "Edit", "file_path", "old_string", "new_string"), claude, true},
	{"codex-responses", codexCalls, func(t *testing.T, w work) []string { return codex(t, w, "model_provider = \"penstock\"\n") }, false},
	{"codex-ollama", codexCalls, func(t *testing.T, w work) []string {
		return codex(t, w, "", "--oss", "--local-provider", "ollama", "-m", w.model)
	}, false},
	{"codex-lmstudio", codexCalls, func(t *testing.T, w work) []string {
		return codex(t, w, "", "--oss", "--local-provider", "lmstudio", "-m", w.model)
	}, false},
	{"opencode-chat", opencodeCalls, opencode("@ai-sdk/openai-compatible"), false},
	{"opencode-responses", opencodeCalls, opencode("@ai-sdk/openai"), false},
	{"opencode-messages", opencodeCalls, opencode("@ai-sdk/anthropic"), false},
	{"qwen-chat", qwenCalls, qwen("openai", "OPENAI", "/v1"), false},
	{"qwen-responses", qwenCalls, qwen("openai-responses", "OPENAI", "/v1"), false},
	{"qwen-messages", qwenCalls, qwen("anthropic", "ANTHROPIC", ""), false},
	{"aider-chat", nil, aider("openai", "OPENAI", "/v1"), false},
	{"aider-ollama", nil, aider("ollama_chat", "OLLAMA", ""), false},
	{"aider-messages", nil, aider("anthropic", "ANTHROPIC", ""), false},
}

var (
	opencodeCalls = filesBy("read", "write", "edit", "filePath", "oldString", "newString")
	qwenCalls     = filesBy("read_file", "write_file", "edit", "file_path", "old_string", "new_string")
)

// filesBy are the calls of an agent that has three tools for files.
func filesBy(read, write, edit, path, from, to string) func(string, string) []call {
	return func(story, summaryPath string) []call {
		return []call{
			{read, []arg{{path, story}}},
			{write, []arg{{path, summaryPath}, {"content", summary}}},
			{edit, []arg{{path, story}, {from, "no hat"}, {to, "a \"hat\" & 1 <feather>"}}},
		}
	}
}

func codexCalls(story, summaryPath string) []call {
	return []call{
		{"exec_command", []arg{{"cmd", "cat " + story}}},
		{"exec_command", []arg{{"cmd", "cat > " + summaryPath + " <<'END'\n" + summary + "END"}}},
		{"exec_command", []arg{{"cmd", `sed -i 's/no hat/a "hat" \& 1 <feather>/' ` + story}}},
	}
}

func claude(t *testing.T, w work) []string {
	return []string{"env", "ANTHROPIC_BASE_URL=" + w.url, "ANTHROPIC_AUTH_TOKEN=none", "ANTHROPIC_MODEL=" + w.model,
		"CLAUDE_CODE_MAX_CONTEXT_TOKENS=65536", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		program(t, "claude"), "-p", task, "--dangerously-skip-permissions"}
}

func codex(t *testing.T, w work, settings string, flags ...string) []string {
	w.write(t, ".codex/config.toml", `model = %q
model_context_window = 65536
%s
[model_providers.penstock]
name = "Penstock"
base_url = "%s/v1"
wire_api = "responses"
`, w.model, settings, w.url)
	return append([]string{"env", "CODEX_OSS_BASE_URL=" + w.url + "/v1", program(t, "codex"), "exec", "--skip-git-repo-check",
		"--dangerously-bypass-approvals-and-sandbox", task}, flags...)
}

func opencode(npm string) func(*testing.T, work) []string {
	return func(t *testing.T, w work) []string {
		w.write(t, ".config/opencode/opencode.json", `{
  "provider": {
    "penstock": {
      "npm": %q,
      "options": {"baseURL": "%s/v1", "apiKey": "none"},
      "models": {%q: {"limit": {"context": 65536, "output": 4096}}}
    }
  }
}`, npm, w.url, w.model)
		return []string{program(t, "opencode"), "run", "--auto", "-m", "penstock/" + w.model, task}
	}
}

func qwen(authType, variables, path string) func(*testing.T, work) []string {
	return func(t *testing.T, w work) []string {
		return []string{"env", variables + "_BASE_URL=" + w.url + path, variables + "_API_KEY=none", variables + "_MODEL=" + w.model,
			program(t, "qwen"), "--auth-type", authType, "--yolo", "-p", task}
	}
}

func aider(provider, variables, path string) func(*testing.T, work) []string {
	return func(t *testing.T, w work) []string {
		venv := must.Get(filepath.Abs("../../build/agents/bin/aider"))(t)
		return []string{"env", variables + "_API_BASE=" + w.url + path, variables + "_API_KEY=none", venv, "--model", provider + "/" + w.model,
			"--message", task, "--yes-always", "--no-git", "--no-show-model-warnings", "--no-check-update", "--analytics-disable", "story.txt", "summary.txt"}
	}
}

// whole is an answer to aider, which has no tools: files as they are to be.
const whole = "story.txt\n```\n" + after + "```\n\nsummary.txt\n```\n" + summary + "```\n\n" + said

func TestAgents_DoATask(t *testing.T) {
	h := serve(t)
	for _, a := range agents {
		for _, f := range formats {
			t.Run(a.name+"/"+f.model, func(t *testing.T) {
				w := work{model: f.model, home: t.TempDir(), dir: t.TempDir()}
				story, summaryPath := filepath.Join(w.dir, "story.txt"), filepath.Join(w.dir, "summary.txt")
				must.Do(t, os.WriteFile(story, []byte(before), 0o600))
				var calls []call
				answer := whole
				if a.calls != nil {
					calls, answer = a.calls(story, summaryPath), said
				}
				s := converse(t, h, f, calls, answer)
				w.url = s.url
				out, err := run(t, w, a.command(t, w))
				if err != nil || !strings.Contains(out, said) {
					t.Errorf("it has not finished: %v", err)
				}
				for path, want := range map[string]string{story: after, summaryPath: summary} {
					if got, err := os.ReadFile(path); err != nil || string(got) != want {
						t.Errorf("%s: %q %v", filepath.Base(path), got, err)
					}
				}
				s.mu.Lock() // an agent that was stopped may still ask
				defer s.mu.Unlock()
				for _, answer := range s.seen {
					if !strings.HasSuffix(answer, ": 200") {
						t.Error(answer)
					}
				}
				t.Logf("%s\n%s", out, strings.Join(s.seen, "\n"))
			})
		}
	}
}

// An agent gives up where a plugin fails, as that comes again: it does not ask the same once more.
func TestAgents_FaultIsNotRepeated(t *testing.T) {
	h := serve(t)
	for _, a := range agents {
		if a.calls == nil {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			w := work{model: formats[0].model, home: t.TempDir(), dir: t.TempDir()}
			s := converse(t, h, formats[0], []call{{"no_such_tool", nil}}, said)
			w.url = s.url
			out, _ := run(t, w, a.command(t, w))
			s.mu.Lock() // an agent that was stopped may still ask
			defer s.mu.Unlock()
			if s.asks != 1 && !(a.whole && s.asks == 2) { // a stream begins where the prompt takes long
				t.Errorf("it has asked %d times", s.asks)
			}
			t.Logf("%s\n%s", out, strings.Join(s.seen, "\n"))
		})
	}
}

// run runs an agent, which knows of nothing but its home and its work.
func run(t *testing.T, w work, args []string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // it is an agent's
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = w.dir, &out, &out, time.Second
	// Agents need Node.js 22, which package.json has for Linux; Debian 12's is older.
	path := filepath.Dir(program(t, "node")) + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + path, "TERM=dumb"}
	err := cmd.Run()
	return out.String(), err
}
