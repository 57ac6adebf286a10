// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"strings"
	"testing"
)

// agentTurns are the second turn of a conversation with tools as coding agents send it, and the
// counting before it.
var agentTurns = []struct {
	agent, path string
	headers     []string
	body        string
}{
	{"Claude Code", "/v1/messages?beta=true", []string{"Anthropic-Version", "2023-06-01", "Anthropic-Beta", "interleaved-thinking-2025-05-14,context-management-2025-06-27", "X-App", "cli"}, claude},
	{"Claude Code, thinking as it likes", "/v1/messages?beta=true", []string{"Anthropic-Version", "2023-06-01"}, claudeAdaptive},
	{"Claude Code", "/v1/messages/count_tokens?beta=true", []string{"Anthropic-Version", "2023-06-01", "Anthropic-Beta", "token-counting-2024-11-01"}, claude},
	{"Codex", "/v1/responses", []string{"Originator", "codex_cli_rs", "Session_id", "019a", "Accept", "text/event-stream"}, codex},
	{"Codex, of a model that it does not know", "/v1/responses", []string{"Accept", "text/event-stream"}, codexPlain},
	{"opencode", "/v1/chat/completions", nil, opencode},
}

const claude = `{"model":"claude-sonnet-4-5","max_tokens":16,"stream":true,"temperature":1,
"metadata":{"user_id":"user_1_account__session_2"},
"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli;"},
 {"type":"text","text":"You write code.","cache_control":{"type":"ephemeral"}}],
"thinking":{"type":"enabled","budget_tokens":8},
"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
"tools":[{"name":"Read","description":"Reads a file","input_schema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
  "properties":{"file_path":{"type":"string"}},"required":["file_path"],"additionalProperties":false},"cache_control":{"type":"ephemeral"}},
 {"type":"web_search_20250305","name":"web_search","max_uses":8}],
"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>be short</system-reminder>"},{"type":"text","text":"What is in a.go?"}]},
 {"role":"assistant","content":[{"type":"thinking","thinking":"I read it.","signature":""},{"type":"text","text":"I look."},
  {"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.go"}}]},
 {"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","is_error":false,"content":[{"type":"text","text":"package a"}],
  "cache_control":{"type":"ephemeral"}}]}]}`

const claudeAdaptive = `{"model":"claude-opus-4-6","max_tokens":16,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"medium"},
"system":[{"type":"text","text":"You write code."}],"tools":[{"name":"Bash","description":"Runs a command","strict":true,"eager_input_streaming":true,
  "input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}],
"messages":[{"role":"user","content":"List the files."},
 {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"},"caller":{"type":"direct"}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no such file"},{"type":"text","text":"Go on."}]}]}`

const codex = `{"model":"gpt-5-codex","stream":true,"store":false,"instructions":"You write code.","prompt_cache_key":"019a","tool_choice":"auto",
"parallel_tool_calls":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"medium","summary":"auto"},"text":{"verbosity":"low"},
"max_output_tokens":16,"client_metadata":{"installation":"1"},
"tools":[{"type":"function","name":"shell","description":"Runs a command","strict":false,"parameters":{"type":"object",
  "properties":{"command":{"type":"array","items":{"type":"string"}}},"required":["command"],"additionalProperties":false}},
 {"type":"custom","name":"apply_patch","description":"Edits files","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}},
 {"type":"web_search","external_web_access":false},{"type":"namespace","name":"mcp__docs","description":"","tools":[]}],
"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions/>"}]},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"List the files."}]},
 {"type":"reasoning","summary":[],"content":null,"encrypted_content":null},
 {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I list them."}]},
 {"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"call_1"},
 {"type":"function_call_output","call_id":"call_1","output":"a.go"},
 {"type":"custom_tool_call","status":"completed","call_id":"call_2","name":"apply_patch","input":"*** Begin Patch\n*** End Patch"},
 {"type":"custom_tool_call_output","call_id":"call_2","output":[{"type":"input_text","text":"Success."}]},
 {"type":"local_shell_call","id":"ls_3","call_id":"call_3","status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":1000}},
 {"type":"function_call_output","call_id":"call_3","output":"a.go"},
 {"type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}},
 {"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}]}`

// codexPlain is what Codex asks of a model that it knows nothing of.
const codexPlain = `{"model":"local","instructions":"You write code.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}],
"tools":[],"tool_choice":"auto","parallel_tool_calls":false,"reasoning":null,"store":false,"stream":true,"include":[],"prompt_cache_key":"019a"}`

const opencode = `{"model":"local","stream":true,"stream_options":{"include_usage":true},"max_tokens":16,"temperature":0,"top_p":1,"tool_choice":"auto",
"tools":[{"type":"function","function":{"name":"bash","description":"Runs a command","parameters":{"$schema":"https://json-schema.org/draft/2020-12/schema",
  "type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"}},"required":["command"],"additionalProperties":false}}}],
"messages":[{"role":"system","content":"You write code."},{"role":"user","content":"List the files."},
 {"role":"assistant","content":"","reasoning_content":"I list them.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]},
 {"role":"tool","tool_call_id":"call_1","content":"a.go"},{"role":"assistant","content":""}]}`

// What coding agents send goes through, however much of it only their own service knows.
func TestAPI_Agents_Conversations(t *testing.T) {
	r := newRig(t, nil)
	for _, turn := range agentTurns {
		headers := append([]string{"Content-Type", "application/json"}, turn.headers...)
		status, _, text := r.call(http.MethodPost, turn.path, turn.body, headers...)
		if status != http.StatusOK || strings.Contains(text, "error\":{") {
			t.Errorf("%s %s: %d %s", turn.agent, turn.path, status, text)
		}
	}
}
