// SPDX-License-Identifier: MIT

package config

import (
	"slices"
	"strings"
)

// always are flags of llama-server that ask for what this program does in any case.
var always = []string{"--jinja", "-cb", "--cont-batching", "--cache-prompt", "--perf", "--warmup", "--offline", "--models-autoload",
	"--log-prefix", "--log-timestamps"}

// unfollowed are flags of llama-server that change no answer, and that nothing here follows; the
// number is that of their values.
var unfollowed = map[string]int{"--no-warmup": 0, "--no-perf": 0, "-bs": 0, "--backend-sampling": 0, "--cache-idle-slots": 0, "--no-cache-idle-slots": 0,
	"--threads-http": 1, "--sse-ping-interval": 1, "--log-colors": 1, "--cache-reuse": 1, "-sps": 1, "--slot-prompt-similarity": 1, "-dt": 1, "--defrag-thold": 1}

// layerRange is followed by two values in llama-server's command line.
const layerRange = "--control-vector-layer-range"

// Respell turns the spellings of llama-server's command line, such as -np and --no-ui, into those
// of AddFlags, and leaves out flags that ask for what is done in any case, or that nothing here
// follows. What it does not know it leaves as it is.
func Respell(args []string) []string {
	out := make([]string, 0, len(args))
	skip := 0 // values of the flag before
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if skip > 0 {
			skip--
			continue
		}
		name, value, hasValue := strings.Cut(arg, "=")
		if slices.Contains(always, arg) {
			continue
		}
		if values, is := unfollowed[name]; is {
			if !hasValue {
				skip = values
			}
			continue
		}
		if flag, stands := flagSpelt(name); flag != "" {
			name = "--" + flag
			if stands != "" && !hasValue {
				value, hasValue = stands, true
			}
		}
		if i+2 < len(args) && arg == layerRange && reads[Layers](args[i+1]+","+args[i+2]) {
			out = append(out, arg+"="+args[i+1]+","+args[i+2])
			skip = 2
			continue
		}
		if hasValue {
			name += "=" + value
		}
		out = append(out, name)
	}
	return out
}

// flagSpelt finds the flag that has another spelling, and the value that the spelling stands for,
// if any: that of a switch which is to be off, for example.
func flagSpelt(name string) (flag, value string) {
	on, negated := strings.CutPrefix(name, "--no-")
	for _, k := range table {
		spelt, stands := k.Spelt[name]
		switch {
		case slices.Contains(k.Aliases, name):
			return k.Flag, ""
		case stands:
			return k.Flag, spelt
		case slices.Contains(k.Off, name), negated && k.Kind == Switch && (on == k.Flag || slices.Contains(k.Aliases, "--"+on)):
			return k.Flag, "false"
		}
	}
	return "", ""
}
