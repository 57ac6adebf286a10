// SPDX-License-Identifier: MIT

// Command plugindoc writes a page of all calls for each plugin SDK, from the comments in its source
// and the table of the ABI.
package main

import (
	"errors"
	"fmt"
	"go/doc"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock/penstock/plugins/abi/table"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plugindoc ROOT")
		os.Exit(2)
	}
	var failed error
	for name, sdk := range sdks {
		text, err := sdk.page(os.Args[1])
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), []byte(text), 0o644)
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, "plugindoc:", failed)
		os.Exit(1)
	}
}

// item is what one row tells of: a function, a type, a method, a field or a value.
type item struct {
	source    string // the file, below the SDK's folder and without its extension
	owner     string // the type that it belongs to, or its own name
	name      string // as its callers in the SDK write it: "Branch.fork"
	signature string
	comment   string
	body      string
	self      string // what the body calls the value that it is a method of
	hidden    bool   // only the SDK's own
	called    bool   // by the host
	value     bool   // a field or a constant, which may share a row with the next
}

// several separates comments that are quoted one by one.
const several = "\n---\n"

// sdk is one of the two.
type sdk struct {
	folder, introduction string
	read                 func(folder string) ([]item, error)
	places               func(group) []string
}

// page is all of an SDK's page.
func (s sdk) page(root string) (string, error) {
	items, err := s.read(filepath.Join(root, filepath.FromSlash(s.folder)))
	if err != nil {
		return "", err
	}
	index := map[string]item{}
	for _, i := range items {
		index[i.name], index[i.source+"#"+i.name] = i, i
	}
	rows, before := map[string]string{}, item{}
	for at, i := range items {
		if next := at + 1; i.value && next < len(items) && items[next].value && items[next].comment == i.comment { // they share a row
			items[next].signature = i.signature + ", " + items[next].signature
		} else if !i.hidden {
			placed := i
			if !s.grouped(s.place(i)) && i.source == before.source { // a new one belongs where it was written
				placed.owner = before.owner
			}
			before = placed
			rows[s.place(placed)] += fmt.Sprintf("| `%s` | %s | %s |\n", i.signature, sentences(i.comment), facts(i, index))
		}
	}
	var b strings.Builder
	b.WriteString(s.introduction)
	for _, g := range groups {
		last := "ABI import, additional fuel"
		if g.title == hooks {
			last = "ABI export, and when"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| call | what it does | %s |\n|---|---|---|\n", g.title, last)
		for _, place := range s.places(g) {
			b.WriteString(rows[place])
			delete(rows, place)
		}
	}
	for place := range rows {
		err = errors.Join(err, fmt.Errorf("%s is in no group: say in tools/plugindoc/main.go which", place))
	}
	return b.String(), err
}

// place is what a group says of an item: its name, or else that of its file.
func (s sdk) place(i item) string {
	if i.called {
		return hooks
	}
	if named := i.source + "#" + i.owner; s.grouped(named) {
		return named
	}
	return i.source
}

func (s sdk) grouped(place string) bool {
	return slices.ContainsFunc(groups, func(g group) bool { return slices.Contains(s.places(g), place) })
}

var linked = regexp.MustCompile("\\[(`[^`]*`)\\](?:\\([^)]*\\))?")

// sentences are the first one of a comment, or of each of several.
func sentences(comment string) string {
	comment = strings.ReplaceAll(linked.ReplaceAllString(comment, "$1"), "crate::", "")
	var all []string
	for part := range strings.SplitSeq(comment, several) {
		all = append(all, new(doc.Package).Synopsis(part))
	}
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(all, " "), "|", `\|`), ".")
}

// facts are what the ABI says of an item: when the host calls it, or the cost of its import.
func facts(i item, index map[string]item) string {
	if i.called {
		_, name, _ := strings.Cut(i.name, ".")
		return when(plain(name))
	}
	names := slices.Collect(maps.Keys(imports(i, index)))
	if len(names) != 1 {
		return ""
	}
	f := importOf[names[0]]
	text := fmt.Sprintf("[`%s`](../abi/v1.md#%s)", f.Name, f.Name)
	if cost := f.Cost.String(); cost != "" {
		text += ": " + cost
	}
	return text
}

// when says which export a method is of.
func when(method string) string {
	if other, ok := exportsOf[method]; ok {
		method = other
	}
	for _, f := range table.V1().Exports {
		if f.Name == "penstock_"+method {
			return fmt.Sprintf("[`%s`](../abi/v1.md#%s): %s", f.Name, f.Name, f.When)
		}
	}
	return ""
}

// importOf has the imports of the ABI by their plain names.
var importOf = func() map[string]table.Func {
	all := map[string]table.Func{}
	for _, f := range table.V1().Imports {
		all[plain(f.Name)] = f
	}
	return all
}()

// plain is a name as no language spells it.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

var (
	raw  = regexp.MustCompile(`\babi(?:\.|::)(\w+)`)
	call = regexp.MustCompile(`([.:])?(?:\b(\w+)(\.|::))?\b(\w+)\(`)
)

// imports are the imports that an item uses: those that its body names or, if it names none, those
// that the functions name which it calls. Whether a host has a function is asked on the side.
func imports(i item, index map[string]item) map[string]bool {
	found := named(i)
	if len(found) == 0 {
		for _, match := range call.FindAllStringSubmatch(i.body, -1) {
			qualifier, name := match[2], match[4]
			switch callee, typed := index[qualifier+"."+name]; {
			case match[1] != "": // of a result
			case qualifier == i.self && qualifier != "":
				maps.Copy(found, named(index[i.owner+"."+name]))
			case typed:
				maps.Copy(found, named(callee))
			case match[3] != ".":
				if same, ok := index[i.source+"#"+name]; ok {
					callee = same
				} else {
					callee = index[name]
				}
				maps.Copy(found, named(callee))
			}
		}
		delete(found, "feature")
	}
	return found
}

// named are the imports that an item's body names.
func named(i item) map[string]bool {
	found := map[string]bool{}
	for _, match := range raw.FindAllStringSubmatch(i.body, -1) {
		if _, ok := importOf[plain(match[1])]; ok {
			found[plain(match[1])] = true
		}
	}
	return found
}

// hooks is the title of the group of what the host calls.
const hooks = "What the host calls"

// exportsOf has the methods whose exports have other names.
var exportsOf = map[string]string{"samplerow": "sample", "rewrite": "messages", "render": "template"}

// group is what an author looks for at one time: files of both SDKs, or single items of them.
type group struct {
	title    string
	goPlaces []string
	rust     []string
}

var groups = []group{
	{hooks, []string{hooks}, []string{hooks}},
	{"The plugin's manifest", []string{"penstock/plugin", "penstock/manifest"}, []string{"plugin", "manifest", "plan"}},
	{
		"The request and its messages",
		[]string{"penstock/request"},
		[]string{"request", "message", "media", "host#config", "host#messages", "host#media", "host#prompt_text", "host#param", "host#sampling", "host#model"},
	},
	{
		"Tokens and the vocabulary",
		[]string{"penstock/vocabulary"},
		[]string{"lib#Token", "host#vocab_size", "host#piece", "host#text_of", "host#attributes", "host#Special", "host#special", "host#tokenize", "host#ADD_SPECIAL", "host#PARSE_SPECIAL", "vocabulary", "table"},
	},
	{
		"The answer so far",
		[]string{"penstock/answer"},
		[]string{"host#history", "host#history_from", "host#history_len", "host#last_token", "host#answer_text", "host#part", "part", "host#hidden_state", "host#logprob"},
	},
	{"Masks, biases and forced tokens", []string{"penstock/next"}, []string{"next", "mask"}},
	{
		"Sampling",
		[]string{"penstock/view", "penstock/branch#Row"},
		[]string{"answer#Choice", "answer#Decision", "candidates", "row", "host#random", "host#uniform"},
	},
	{"Accepting and stopping", []string{"penstock/accept"}, []string{"answer"}},
	{"Programs and branches", []string{"penstock/run", "penstock/branch"}, []string{"run", "branch"}},
	{"The host's grammars", []string{"grammar/grammar"}, []string{"grammar"}},
	{
		"Output, notes and the log",
		[]string{"penstock/output", "penstock/request#Feature"},
		[]string{"host#output", "host#note", "lib#log!", "host#Level", "host#log", "host#panicked", "host#feature"},
	},
	{"Arithmetic", []string{"math32/math32"}, []string{"math"}},
	{"JSON", []string{"json/json", "json/write"}, []string{"json"}},
}

const about = `
The tables have everything that the host calls in a plugin and that a plugin calls, with the first sentence of its documentation; the
source, which ` + "`penstock plugin new`" + ` puts into a plugin's folder, has the rest. Where a call is one import of
[the ABI](../abi/v1.md), the last column names it, and the fuel that it takes in addition to its instructions.
`

var sdks = map[string]sdk{
	"docs/plugins/calls-go.md": {
		folder: "plugins/sdk/go", read: readGo, places: func(g group) []string { return g.goPlaces },
		introduction: "<!-- Generated by tools/plugindoc from plugins/sdk/go; change it there and run make generate. -->\n\n# All calls of the Go SDK\n" + about +
			"[Your first sampler](go.md) shows how they are used. Names without a package are of `penstock`.\n",
	},
	"docs/plugins/calls-rust.md": {
		folder: "plugins/sdk/rust/src", read: func(folder string) ([]item, error) { return readRust(os.DirFS(folder)) },
		places: func(g group) []string { return g.rust },
		introduction: "<!-- Generated by tools/plugindoc from plugins/sdk/rust; change it there and run make generate. -->\n\n# All calls of the Rust SDK\n" + about +
			"[Your first sampler](rust.md) shows how they are used. Names are those of the crate `penstock`.\n",
	},
}
