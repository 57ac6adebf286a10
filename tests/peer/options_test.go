// SPDX-License-Identifier: MIT

package peer

import (
	"encoding/json"
	"math"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/tools/must"
	"github.com/spf13/pflag"
)

// Options of how llama.cpp loads and computes do the same here as in llama-server's command line.
func TestOptions_TextAsLlamaServer(t *testing.T) {
	plain := greedy(t, Penstock(t, BuiltIn, nil))
	for _, c := range []struct {
		name, flags string
		changes     bool // what the model writes without the options
	}{
		{"rope base", "--rope-freq-base 500 --rope-freq-scale 0.5", true},
		{"YaRN", "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 512 --yarn-ext-factor 0.5 --yarn-attn-factor 1.2 --yarn-beta-fast 16 --yarn-beta-slow 2", true},
		{"quantised cache", "-ctk q8_0 -ctv q4_0 -fa on", true},
		{"quantised K alone, plain attention", "-ctk q4_0 -fa off", true},
		{"wide cache", "-ctk f32 -ctv f32", false},
		{"metadata", "--override-kv llama.attention.layer_norm_rms_epsilon=float:0.5,tokenizer.ggml.add_bos_token=bool:false", true},
		{"loading", "--load-mode none --no-repack --no-host --check-tensors -ot ffn_up=CPU --n-cpu-ffn 1 --swa-full", false},
		{"threads", "-tb 2 --no-kv-offload --no-op-offload", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			flags := strings.Fields(c.flags)
			peer, ours := LlamaServer(t, BuiltIn, flags...), Penstock(t, BuiltIn, keysOf(t, flags))
			want, got := greedy(t, peer), greedy(t, ours)
			if want.differs(got) {
				t.Errorf("llama-server writes %q, Penstock %q", want.text(), got.text())
			}
			if changed := plain.differs(got) || plain.moved(got); changed && !c.changes || !changed && c.changes {
				t.Errorf("without the options it is %q, with them %q", plain.text(), got.text())
			}
		})
	}
}

// written is what a server writes: each token with those that were likely in its place.
type written []struct {
	ID    int
	Token string
	Top   []struct {
		ID      int
		Token   string
		Logprob float64
	} `json:"top_logprobs"`
}

// greedy is what a server writes, greedily.
func greedy(t *testing.T, s Server) written {
	t.Helper()
	a := s.Call(t, http.MethodPost, "/completion",
		`{"prompt":"Once upon a time there was a little frog who lived in a pond and","n_predict":64,"temperature":0,"ignore_eos":true,"n_probs":5}`)
	var answer struct {
		Tokens written `json:"completion_probabilities"`
	}
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || a.Status != http.StatusOK || len(answer.Tokens) != 64 {
		t.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	return answer.Tokens
}

func (w written) text() (text string) {
	for _, t := range w {
		text += t.Token
	}
	return text
}

// differs reports whether another text is not the same but for rounding: on some processors
// kernels that compute a batch round otherwise than those for a single token, and how tokens are
// batched depends on how fast the machine is. Where both tokens were as likely, what follows says
// nothing.
func (w written) differs(other written) bool {
	for i := range w {
		if w[i].ID == other[i].ID {
			continue
		}
		for _, top := range w[i].Top {
			if top.ID == other[i].ID {
				return math.Abs(w[i].Top[0].Logprob-top.Logprob) > tie
			}
		}
		return true
	}
	return false
}

// moved reports whether the log-probabilities of another text are others than rounding makes them,
// up to where the texts part.
func (w written) moved(other written) bool {
	for i := range w {
		if math.Abs(w[i].Top[0].Logprob-other[i].Top[0].Logprob) > tie {
			return true
		}
		if w[i].ID != other[i].ID {
			return false
		}
	}
	return false
}

// tie is how far apart the log-probabilities of two tokens are that rounding may exchange.
const tie = 0.1

// keysOf are the keys of the configuration that a command line of llama-server's sets.
func keysOf(t *testing.T, flags []string) map[string]any {
	t.Helper()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(fs)
	must.Do(t, fs.Parse(config.Respell(flags)))
	return config.FlagValues(fs)
}

// flagInHelp is a flag at the beginning of a line of llama-server's help, with a comma if another
// follows.
var flagInHelp = regexp.MustCompile(`^(--?[a-zA-Z][a-zA-Z0-9.-]*)(,\s*)?`)

// Every flag of llama-server is understood, or there is a reason why not.
func TestFlags_AllOfLlamaServers(t *testing.T) {
	help := openGolden(t, []string{"--help"}).answer("", func() (storedAnswer, error) {
		text, err := exec.CommandContext(t.Context(), llamaServer(t), "--help").Output()
		return storedAnswer{Body: string(text)}, err
	})
	n := 0
	for line := range strings.Lines(help.Body) {
		if !strings.HasPrefix(line, "-") || strings.HasPrefix(line, "-----") {
			continue
		}
		for more := true; more; {
			m := flagInHelp.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("no flag at the beginning of %q", line)
			}
			flag := m[1]
			n++
			if known, because := config.FindFlag(flag); !known && because == "" && flag != "-h" && flag != "--help" {
				t.Errorf("%s is neither understood nor absent for a reason", flag)
			}
			line, more = line[len(m[0]):], m[2] != ""
		}
	}
	if n < 300 {
		t.Errorf("llama-server's help has %d spellings of flags; is it read as it is written?", n)
	}
}

// What does not fit the machine or the model is refused at the start, with what there is instead.
func TestOptions_Refused(t *testing.T) {
	for flags, says := range map[string]string{
		"-dev CUDA9":                             "besides the CPU there are",
		"-sm tensor -dev none":                   "needs a GPU",
		"-ot ffn_up=CUDA9":                       "there are: CPU",
		"-ot blk.(=CPU":                          "no regular expression",
		"--override-kv llama.block_count=int:99": "blk.5.attn_norm.weight",
		"-ctv q8_0 -fa off":                      "quantised types need flash attention",
		"-ts 0,0":                                "not all 0",
		"--numa everywhere":                      "distribute",
	} {
		t.Run(flags, func(t *testing.T) {
			err := PenstockFails(t, BuiltIn, keysOf(t, strings.Fields(flags)))
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want an error that says %q", err, says)
			}
		})
	}
}
