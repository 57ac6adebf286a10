// SPDX-License-Identifier: MIT

package config

import (
	"fmt"
	"slices"
	"strings"
)

// absent are the flags of llama-server that Penstock does not have, with the reason or what to use
// instead. docs/llama-server.md shows them.
var absent = []struct {
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

// CheckAbsent is why a command line cannot be taken: the first flag of llama-server's that is
// absent here, and what to do instead.
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
	if unfollowed[arg] > 0 {
		return true
	}
	for _, k := range table {
		if k.Flag != "" && k.Kind != Switch && (arg == "--"+k.Flag || slices.Contains(k.Aliases, arg)) {
			return true
		}
	}
	return false
}

// FindFlag says of a flag, spelt as llama-server does, whether it is understood, or why it is
// absent. Of flags that nobody knows it says neither.
func FindFlag(name string) (known bool, because string) {
	flag, _ := flagSpelt(name)
	_, taken := unfollowed[name]
	if flag != "" || taken || slices.Contains(always, name) || slices.ContainsFunc(table, func(k Key) bool { return k.Flag != "" && name == "--"+k.Flag }) {
		return true, ""
	}
	for _, group := range absent {
		if slices.ContainsFunc(group.flags, func(pattern string) bool { return fits(name, pattern) }) {
			return false, group.because
		}
	}
	return false, ""
}

// fits reports whether a name is what a pattern says, in which one * may stand for letters.
func fits(name, pattern string) bool {
	before, after, open := strings.Cut(pattern, "*")
	if !open {
		return name == pattern
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}
