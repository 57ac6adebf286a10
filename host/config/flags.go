// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags defines a flag for every key that has one. Their defaults are empty, so that only given
// flags count; the key's default stands in the usage line.
func AddFlags(fs *pflag.FlagSet) {
	for _, k := range table {
		if k.Flag == "" {
			continue
		}
		usage := k.Help
		if text := formatValue(k.Default); text != "" {
			usage += " (default " + text + ")"
		}
		if k.Kind == List {
			fs.StringArray(k.Flag, nil, usage)
			continue
		}
		if k.Once {
			fs.Var(&once{}, k.Flag, usage)
			continue
		}
		fs.String(k.Flag, "", usage)
		if k.Kind == Switch {
			fs.Lookup(k.Flag).NoOptDefVal = "true"
		}
	}
}

// FlagValues returns the flags that were given, by key name.
func FlagValues(fs *pflag.FlagSet) map[string]any {
	given := map[string]any{}
	for _, k := range table {
		f := fs.Lookup(k.Flag)
		if k.Flag == "" || f == nil || !f.Changed {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given[k.Name] = strings.Join(list.GetSlice(), ",") // each may be a list itself, as with llama-server
			continue
		}
		text := f.Value.String()
		given[k.Name] = k.unspell(text)
	}
	return given
}

// unspell turns a flag's value as llama-server spells it into the key's own.
func (k Key) unspell(text string) string {
	if word, ok := k.Words[text]; ok {
		text = word
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return text
	case len(k.Numbered) > 0:
		return k.Numbered[min(n, uint64(len(k.Numbered)-1))]
	}
	return text + k.Unit
}

// once is a flag that may be given again with the same value only.
type once struct {
	text  string
	given bool
}

func (o *once) String() string { return o.text }
func (o *once) Type() string   { return "string" }

func (o *once) Set(text string) error {
	if o.given && text != o.text {
		return fmt.Errorf("it was %q before, and only one can be served", o.text)
	}
	o.text, o.given = text, true
	return nil
}

// impliedFlags are flags of llama-server that ask for what this program does in any case.
var impliedFlags = []string{"--jinja", "-cb", "--cont-batching", "--cache-prompt", "--perf", "--warmup", "--offline", "--models-autoload",
	"--log-prefix", "--log-timestamps"}

// ignoredFlags are flags of llama-server that change no answer and have no effect here, with the
// number of their values.
var ignoredFlags = map[string]int{"--no-warmup": 0, "--no-perf": 0, "-bs": 0, "--backend-sampling": 0, "--cache-idle-slots": 0, "--no-cache-idle-slots": 0,
	"--threads-http": 1, "--sse-ping-interval": 1, "--log-colors": 1, "--cache-reuse": 1, "-sps": 1, "--slot-prompt-similarity": 1, "-dt": 1, "--defrag-thold": 1}

// layerRange is followed by two values in llama-server's command line.
const layerRange = "--control-vector-layer-range"

// Respell turns the spellings of llama-server's command line, such as -np and --no-ui, into those
// of AddFlags, and leaves out implied and ignored flags. Unknown arguments stay as they are.
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
		if slices.Contains(impliedFlags, arg) {
			continue
		}
		if values, is := ignoredFlags[name]; is {
			if !hasValue {
				skip = values
			}
			continue
		}
		if flag, stands := findSpelling(name); flag != "" {
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

// findSpelling finds the flag that llama-server spells in another way, and the value that the
// spelling stands for, if any: false for one that turns a switch off.
func findSpelling(name string) (flag, value string) {
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

// absentFlags are the flags of llama-server that Penstock does not have, with the reason or what
// to use instead. docs/llama-server.md shows them.
var absentFlags = []struct {
	flags   []string // with dashes, all spellings; a * stands for any letters
	because string
}{
	{[]string{"--ignore-eos", "--dry-sequence-breaker*", "-l", "--logit-bias", "--grammar*", "-j", "--json-schema*", "-jf"}, "set them in the request"},
	{[]string{"-C", "--cpu-*", "-Cr", "-Cb", "-Crb", "--prio*", "--poll*"}, "the operating system sets the CPUs and the priority of threads: use taskset and nice; threads sleep between two passes"},
	{[]string{"--spec-*", "-hfd", "-hfrd", "--hf-repo-draft", "-td", "-tbd", "--threads-draft", "--threads-batch-draft", "-Cd", "-Crd", "-Cbd", "-otd",
		"--override-tensor-draft", "-cmoed", "-ncmoed", "--n-cpu-moe-draft", "--draft*", "-devd", "--device-draft",
		"-ctkd", "-ctvd", "--cache-type-*-draft", "-lcs", "-lcd", "--lookup-*", "--no-spec-*", "--mtp", "--dflash", "--eagle3"}, "--spec-type, -md and --spec-draft-n-max control drafts; the scheduler decides the rest, or it is as for the model itself"},
	{[]string{"-mmu", "--mmproj-url"}, "penstock model pull downloads a model's projector with it"},
	{[]string{"--video*", "--mtmd-*", "--media-path"}, "requests contain their pictures and sounds; videos are not read"},
	{[]string{"-mu", "--model-url", "-hf", "-hfr", "--hf-repo", "-hff", "--hf-file", "-hft", "--hf-token", "-dr", "--docker-repo", "-cl", "--cache-list", "--models-preset",
		"--no-models-autoload", "--*-default", "--fim-*"}, "penstock model pull downloads models, penstock model list shows them"},
	{[]string{"--kv-unified-per-slot"}, "--ctx-size and --kv-layout say how slots share the cells"},
	{[]string{"--no-jinja", "-nocb", "--no-cont-batching", "--no-cache-prompt", "--skip-chat-parsing", "--no-skip-chat-parsing"},
		"always on, or always off; a request can set cache_prompt"},
	{[]string{"--cors-methods", "--cors-headers", "--cors-credentials", "--no-cors-credentials"},
		"--cors-origins says what other origins may do"},
	{[]string{"--log-file", "--log-prompts-dir", "--no-log-*"}, "the log goes to standard error and contains no prompts; use --log-level and --log-format"},
	{[]string{"--tools*", "-ag", "--agent", "-no-ag", "--no-agent", "--mcp-*", "--ui-*", "--webui-*", "--no-ui-*", "--no-webui-*"}, "the server runs no tools"},
	{[]string{"-r", "--reverse-prompt", "-sp", "--special", "-e", "--escape", "--no-escape", "--spm-infill"}, "requests contain the stop strings, with the escapes of JSON"},
	{[]string{"--list-devices", "--completion-bash", "--version", "--usage"}, "use penstock doctor, penstock completion, penstock version and --help"},
}

// CheckAbsent refuses a command line that has a flag of llama-server which is absent here. The
// error says what to do instead.
func CheckAbsent(args []string) error {
	before := ""
	for _, arg := range args {
		if arg == "--" {
			return nil
		}
		isValue := takesValue(before)
		before = arg
		name, _, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "-") || isValue {
			continue
		}
		if _, because := FindFlag(name); because != "" {
			return fmt.Errorf("%s is a flag of llama-server that is absent here: %s; docs/llama-server.md lists all", name, because)
		}
	}
	return nil
}

// takesValue reports whether the argument after arg is its value.
func takesValue(arg string) bool {
	if ignoredFlags[arg] > 0 {
		return true
	}
	for _, k := range table {
		if k.Flag != "" && k.Kind != Switch && (arg == "--"+k.Flag || slices.Contains(k.Aliases, arg)) {
			return true
		}
	}
	return false
}

// FindFlag tells whether a flag, spelt as in llama-server, is understood, or else why it is
// absent. Of a flag that nobody knows it says neither.
func FindFlag(name string) (known bool, because string) {
	flag, _ := findSpelling(name)
	_, taken := ignoredFlags[name]
	if flag != "" || taken || slices.Contains(impliedFlags, name) || slices.ContainsFunc(table, func(k Key) bool { return k.Flag != "" && name == "--"+k.Flag }) {
		return true, ""
	}
	for _, group := range absentFlags {
		if slices.ContainsFunc(group.flags, func(pattern string) bool { return matchesPattern(name, pattern) }) {
			return false, group.because
		}
	}
	return false, ""
}

// matchesPattern reports whether a name matches a pattern, in which one * may stand for any
// letters.
func matchesPattern(name, pattern string) bool {
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return name == pattern
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
