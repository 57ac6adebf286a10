// SPDX-License-Identifier: MIT

package docs

// elsewhere are documents whose blocks another test runs.
var elsewhere = map[string]string{
	"docs/plugins/go.md":      "scripts/tutorial.sh",
	"docs/plugins/rust.md":    "scripts/tutorial.sh",
	"docs/plugins/scripts.md": "TestScripts_EachStep_AnswersAsShown",
	"docs/media.md":           "TestDocs_Media in tests/api: a model that sees and hears",
	"docs/curl.md":            "TestDocs_Curl in tests/api: it expects some errors",
	"docs/library.md":         "TestLibrary_NewModule_Answers: a module outside the checkout",
}

// notRun says why a block, named by its first line, is not run.
var notRun = map[string]string{
	"penstock receipt key receipts.pem": "its server does not end; TestReceipt in cmd/penstock makes a key and goes on from there",
	"make run":                          "it builds all and does not end; the server of these tests is what it starts",
	"go test ./scheduler/...":           "make test does more of the same",
	"BACKEND=cuda make run":             "builds llama.cpp anew, each for minutes; make test-long tries the flags",
	"go run ./plugins/tck/cmd/tck -url http://127.0.0.1:8080 -admin-key KEY": "the tests of host run the kit over HTTP, those of plugins/tck write it",
	"sudo install -m 755 bin/penstock /usr/bin/penstock":                     "changes the machine and needs systemd as its first process; the tests in deploy check the service",
	"podman build -f deploy/Containerfile -t penstock .":                     "needs a registry of containers; the tests in deploy check the file and the binary",
	"sudo apt-get install haproxy":                                           "changes the machine; the tests in deploy start HAProxy with that file",
	"for replica in r1 r2 r3; do":                                            "restarts three machines; TestProxy_RollingRestart in deploy restarts three processes",
	"podman build -t penstock .":                                             "likewise; make dist-test follows the file by hand",
	`bin/penstock serve "$(scripts/models.sh smollm2-135m-q4_1.gguf)"`:       "does not end; tests/real serves what the script fetches",
	"make dist":       "compiles for minutes; make dist-test runs it, and the README's commands with what it makes",
	"make bench-peer": "takes ten minutes",
	"git switch --detach COMMIT && make build && cp bin/penstock build/before && git switch -":                                         "builds all once more and takes minutes; tests of tools/lab/benchpeer check what it makes of figures",
	`make fuzz FUZZTIME=10m ARGS="host/config Socket"`:                                                                                 "takes half an hour; make test runs what fuzzing has found",
	"bin/penstock model pull OWNER/NAME:Q4_K_M":                                                                                        "needs a hub",
	"BACKEND=vulkan make run":                                                                                                          "builds llama.cpp anew; make test-long tries Vulkan",
	`penstock plugin dev no-e --prompt "Tell me a story about a frog."`:                                                                "does not end; a test of cmd/penstock runs it for each language and some kinds",
	"helm install chat deploy/helm/penstock --set image.repository=registry.example.com/penstock --set image.tag=1.0":                  "needs a cluster; make test-chart does what can be done without one",
	"penstock serve --plugin-dir build/plugins --plugin-policy-file policies.yaml":                                                     "does not end; tests/plugins serves such files",
	`echo 'policies: [{plugin: banned-phrases, config: {phrases: ["As an AI"]}}]' > policies.yaml`:                                     "needs a cluster; a test of the chart renders it with a policySecret",
	"curl http://127.0.0.1:8080/v1/modules -H 'Authorization: Bearer KEY' -H 'Content-Type: application/wasm' --data-binary @ban.wasm": "is refused by a server of default settings; tests/plugins sends modules to one that takes them",
	"kubectl create secret generic penstock-keys --from-file=keys.txt":                                                                 "likewise",
	"make soak":     "takes 15 minutes; make test-long runs it for 20 seconds",
	"make simulate": "takes minutes; the tests of tools/lab/simulate run small fleets",
	"penstock worker --listen 10.0.0.2:50052 --tls-cert worker.crt --tls-key worker.key --tls-ca ca.crt":                      "needs other machines; the tests of host start workers here",
	"penstock serve -m model.gguf --rpc 10.0.0.2:50052,10.0.0.3:50052 --tls-cert host.crt --tls-key host.key --tls-ca ca.crt": "likewise",
	"bin/penstock plugin push plugins/banned-phrases.wasm registry.example.com/team/banned-phrases:1.0":                       "needs a registry; the tests of cmd/penstock push to one of their own",
	"penstock plugin push plugins/beam.wasm registry.example.com/team/beam:1.0.0":                                             "likewise; tests/plugins has an index in a registry",
	"penstock plugin search repetition":                                                                                                            "names no plugin; the tests of cmd/penstock install from a server of their own",
	"penstock model pull OWNER/NAME":                                                                                                               "needs a hub; the tests of cmd/penstock pull from one of their own",
	"penstock serve --rerank-model bge-reranker-v2-m3.gguf":                                                                                        "needs a model that scores documents; the tests of host write one",
	"go run ./tools/lab/trainprobe -model host/model/penstock-tiny.gguf \\":                                                                        "needs the sources; a test of tools/lab/trainprobe trains a network",
	`OLLAMA_HOST=127.0.0.1:8080 ollama run penstock-tiny "Tell me a story about a frog."`:                                                          "needs Ollama; its JavaScript client is run",
	"OPENAI_API_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none open-webui serve":                                                            "needs Open WebUI",
	"OPENAI_API_BASE=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none aider --model openai/penstock-tiny":                                              "needs Aider",
	"ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_AUTH_TOKEN=none ANTHROPIC_MODEL=penstock-tiny CLAUDE_CODE_MAX_CONTEXT_TOKENS=65536 claude": "needs Claude Code, see tests/agents",
	"CODEX_OSS_BASE_URL=http://127.0.0.1:8080/v1 codex --oss --local-provider ollama -m penstock-tiny":                                             "needs Codex, see tests/agents",
	"OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none OPENAI_MODEL=penstock-tiny qwen --auth-type openai":                              "needs Qwen Code, see tests/agents",
	"lm_eval --model local-completions --tasks arc_easy \\":                                                                                        "needs lm-evaluation-harness; tests in host send what it sends",
	"curl http://127.0.0.1:8080/v1/audio/transcriptions -F file=@speech.wav -F language=en":                                                        "needs a model that hears; OpenAI's client sends the same in host/api/clients",
	`const socket = new WebSocket("ws://127.0.0.1:8080/v1/ws");`:                                                                                   "is for a browser; web/test/docs.test.ts runs it there",
	`const ws = new WebSocket("ws://127.0.0.1:8080/v1/ws");`:                                                                                       "is for a browser; web/test/docs.test.ts runs it there",
	`import { connect } from "./penstock.js";`:                                                                                                     "is for a browser; TestWebSocketDocs in host runs its module",
}

// notCommands are the languages of blocks that nobody runs.
var notCommands = map[string]string{
	"":       "pictures, and other programs' files",
	"go":     "parts of the plugin interface",
	"json":   "bodies of requests and answers",
	"rust":   "parts of the plugin interface",
	"python": "needs packages from PyPI; the clients for JavaScript send the same requests",
	"text":   "layouts of memory, and what commands print: see follow",
	"toml":   "other programs' files",
	"wat":    "signatures of the plugin interface",
	"yaml":   "configuration files",
}
