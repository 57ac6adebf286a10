// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"
)

// DefaultFile is read where no file is named, if it is there.
const DefaultFile = "penstock.yaml"

// defaultPort is the port of server.listen's default. It is used if server.host replaces the path
// of a socket.
const defaultPort = "8080"

// Sources is where a configuration comes from.
type Sources struct {
	File    string         // must exist; empty: DefaultFile if present
	Environ []string       // as os.Environ returns it
	Flags   map[string]any // by key name, as FlagValues returns it
}

// Setting is the value of a key and where it came from.
type Setting struct {
	Key    Key
	Value  any    // of the kind's Go type
	Origin string // "default", "file penstock.yaml", "environment PENSTOCK_…" or "flag --…"
}

// String is the value as text; of a secret only whether there is one.
func (s Setting) String() string {
	text := formatValue(s.Value)
	if s.Key.Secret && text != "" {
		return "(secret)"
	}
	return text
}

// Load merges the sources and validates the result. Its error joins everything that is wrong, each
// as a *Problem where it concerns a key.
func Load(s Sources) (Config, error) {
	l := loader{settings: make([]Setting, len(table))}
	for i, key := range table {
		l.settings[i] = Setting{Key: key, Value: key.Default, Origin: "default"}
	}
	l.readFile(s.File)
	l.readEnvironment(s.Environ)
	for _, key := range table {
		if v, ok := s.Flags[key.Name]; ok {
			l.set(key.Name, v, "flag --"+key.Flag)
		}
	}
	l.fitMicroBatch()
	l.placeListener()
	l.placeTimeout()
	c, err := l.build()
	c.named, c.services = l.buildNamedModels(), l.services
	if err := errors.Join(append(l.problems, err)...); err != nil {
		return Config{}, err
	}
	return c, nil
}

type loader struct {
	settings []Setting
	problems []error
	models   []namedModel
	services []string
}

func (l *loader) find(name string) *Setting {
	i := slices.IndexFunc(l.settings, func(s Setting) bool { return s.Key.Name == name })
	if i < 0 {
		return nil
	}
	return &l.settings[i]
}

// set gives a key the value of a source. A wrong value becomes a problem and leaves the key as it
// was. An empty text may come from an unset variable of a script, which must not open the server;
// an empty list in the file is meant.
func (l *loader) set(name string, raw any, origin string) {
	setting := l.find(name)
	if setting == nil {
		l.problems = append(l.problems, unknownKey(name, raw, origin))
		return
	}
	value, err := setting.Key.Kind.parse(raw)
	if err != nil {
		l.problems = append(l.problems, wrongValue(Setting{Key: setting.Key, Value: raw, Origin: origin}, err))
		return
	}
	if _, isText := raw.(string); isText && setting.Key.Protects && formatValue(value) == "" {
		l.problems = append(l.problems, &Problem{Key: name, Origin: origin, kind: ErrWrongValue,
			Want: "is empty, and the server would do without what it protects; give it a value, or leave it out"})
		return
	}
	setting.Value, setting.Origin = value, origin
}

func (l *loader) readFile(path string) {
	optional := path == ""
	if optional {
		path = DefaultFile
	}
	text, err := os.ReadFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return
	}
	var tree map[string]any
	if err == nil {
		tree, err = parseFile(text)
	}
	k := koanf.New(".")
	if err == nil {
		err = k.Load(confmap.Provider(tree, ""), nil)
	}
	if err != nil {
		l.problems = append(l.problems, fmt.Errorf("configuration file %s: %w", path, err))
		return
	}
	l.readNamedModels(k.Raw(), "file "+path)
	given := map[string]int{}
	countKeys(k.Raw(), "", given)
	values := k.All()
	for _, name := range k.Keys() {
		switch v := values[name]; {
		case l.isOfNamedModel(name):
		case given[name] > 1: // which of them koanf took is chance
			l.problems = append(l.problems, &Problem{Key: name, Origin: "file " + path, Want: "must be given once, in its section or with a dot", kind: ErrWrongValue})
		case v != nil && !isEmptySection(name, v):
			l.set(name, v, "file "+path)
		}
	}
}

// countKeys counts how often a file gives a key: in its section, and with a dot.
func countKeys(section map[string]any, prefix string, given map[string]int) {
	for key, value := range section {
		if within, ok := value.(map[string]any); ok && len(within) > 0 {
			countKeys(within, prefix+key+".", given)
		} else {
			given[prefix+key]++
		}
	}
}

// parseFile reads YAML, of which JSON is a part.
func parseFile(text []byte) (tree map[string]any, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	keepText(&document)
	err = document.Decode(&tree)
	return tree, err
}

// keepText makes plain values texts, as they are in the environment: the table knows the kinds of
// the keys. YAML would read the API key 0123 as the number 83, 1e9 as another, and the name
// 2026-01-02 as a time.
func keepText(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 {
		switch n.ShortTag() {
		case "!!bool", "!!int", "!!float", "!!timestamp":
			n.Tag = "!!str"
		}
	}
	for _, child := range n.Content {
		keepText(child)
	}
}

// isEmptySection reports whether a value is a section without keys, as in a file in which
// everything is commented out.
func isEmptySection(name string, v any) bool {
	m, isMap := v.(map[string]any)
	return isMap && len(m) == 0 && slices.ContainsFunc(table, func(k Key) bool {
		return strings.HasPrefix(k.Name, name+".")
	})
}

const prefix = "PENSTOCK_"

// Variable is the name of the environment variable of a key.
func (k Key) Variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// readEnvironment matches variables against the table, because "_" may stand for a dot or for
// itself. An empty variable counts as absent, since many tools cannot unset one, but for a key
// that protects the server.
func (l *loader) readEnvironment(environ []string) {
	l.services = findServices(environ)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || isIgnoredVariable(name) || l.isOfService(name, value) {
			continue
		}
		i := slices.IndexFunc(table, func(k Key) bool { return k.Variable() == name })
		switch {
		case value == "" && (i < 0 || !table[i].Protects):
		case i < 0:
			l.problems = append(l.problems, unknownKey(name, value, "environment"))
		default:
			l.set(table[i].Name, value, "environment "+name)
		}
	}
}

// isIgnoredVariable reports whether a variable is not of the configuration but for tests, for the
// child process that tries models, or for package native.
func isIgnoredVariable(name string) bool {
	return strings.HasPrefix(name, prefix+"TEST_") || name == prefix+"PROBE" || name == prefix+"CPU_LEVEL"
}

// findServices finds the Services beside a pod whose variables, which Kubernetes sets, begin as
// this program's own do: PENSTOCK of a Service penstock, PENSTOCK_SERVER of penstock-server. Each
// has a host and a port.
func findServices(environ []string) (services []string) {
	is := func(name string) bool {
		return slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		service, found := strings.CutSuffix(name, "_SERVICE_HOST")
		if found && strings.HasPrefix(service+"_", prefix) && is(service+"_SERVICE_PORT") {
			services = append(services, service)
		}
	}
	return services
}

var linkOfPort = regexp.MustCompile(`^_PORT_[0-9]+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?$`)

// isOfService reports whether Kubernetes has set a variable. PENSTOCK_SERVER_PORT is a Service's
// if it is a URL, else the port of this server.
func (l *loader) isOfService(name, value string) bool {
	return slices.ContainsFunc(l.services, func(service string) bool {
		rest, found := strings.CutPrefix(name, service)
		return found && (rest == "_SERVICE_HOST" || rest == "_SERVICE_PORT" || strings.HasPrefix(rest, "_SERVICE_PORT_") ||
			rest == "_PORT" && strings.Contains(value, "://") || linkOfPort.MatchString(rest))
	})
}

// fitMicroBatch makes the default of ubatch_size follow a smaller batch_size; one that was asked
// for is checked.
func (l *loader) fitMicroBatch() {
	batch, ubatch := l.find("scheduler.batch_size"), l.find("scheduler.ubatch_size")
	if ubatch.Origin == "default" {
		ubatch.Value = min(ubatch.Value.(int), batch.Value.(int))
	}
}

// placeListener replaces the host and the port of server.listen with server.host and server.port.
// A Unix socket has no port. What cannot be read stays as it is, and is refused later.
func (l *loader) placeListener() {
	listen, host, port := l.find("server.listen"), l.find("server.host"), l.find("server.port")
	address, err := ParseAddress(listen.Value.(string))
	if err != nil {
		return
	}
	origin := listen.Origin
	if host.Value != "" {
		own, err := parseHost(host.Value.(string))
		if err != nil {
			return
		}
		if own.Port = address.Port; own.Port == "" {
			own.Port = defaultPort
		}
		address, origin = own, host.Origin
	}
	if port.Value != -1 && address.Socket == "" {
		address.Port, origin = strconv.Itoa(port.Value.(int)), port.Origin
	}
	listen.Value, listen.Origin = address.String(), origin
}

// placeTimeout replaces the timeouts of bodies and of writing with server.timeout.
func (l *loader) placeTimeout() {
	timeout := l.find("server.timeout")
	if timeout.Value == time.Duration(0) {
		return
	}
	for _, name := range []string{"server.body_timeout", "server.write_timeout"} {
		replaced := l.find(name)
		replaced.Value, replaced.Origin = timeout.Value, timeout.Origin
	}
}

// build checks the settings and makes them a Config. Its error joins what is wrong with single
// values; if nothing is, what is wrong between them.
func (l *loader) build() (Config, error) {
	var problems []error
	for _, s := range l.settings {
		if s.Key.check != nil && !s.Key.check(s.Value) {
			problems = append(problems, wrongValue(s, nil))
		}
	}
	if problems != nil {
		return Config{settings: l.settings}, errors.Join(problems...)
	}
	c, err := l.merge()
	if err != nil {
		return c, err
	}
	for _, s := range l.settings {
		if fits := dependencies[s.Key.Name]; fits != nil && !fits(c) {
			problems = append(problems, wrongValue(s, nil))
		}
	}
	return c, errors.Join(problems...)
}

// merge makes checked settings a Config. It does not check them again: a folder may have gone
// since.
func (l *loader) merge() (Config, error) {
	values := make(map[string]any, len(l.settings))
	for _, s := range l.settings {
		values[s.Key.Name] = s.Value
	}
	k := koanf.New(".")
	c := Config{settings: l.settings}
	err := k.Load(confmap.Provider(values, "."), nil)
	if err == nil {
		err = k.Unmarshal("", &c)
	}
	if err != nil {
		return c, fmt.Errorf("merge the configuration: %w", err)
	}
	return c, nil
}

// dependencies tell whether a key's value fits the values of other keys.
var dependencies = map[string]func(Config) bool{
	"chat.template_file":     func(c Config) bool { return c.Chat.TemplateFile == "" || c.Chat.Template == "" },
	"model.image_min_tokens": func(c Config) bool { return c.Model.tokensInOrder() },
	"model.cache_type_v":     func(c Config) bool { return c.Model.FlashAttn != "off" || !c.Model.hasQuantisedV() },
	"model.rope_scale":       func(c Config) bool { return c.Model.RopeScale == 0 || c.Model.RopeFreqScale == 0 },
	"scheduler.ubatch_size":  func(c Config) bool { return c.Scheduler.UBatchSize <= c.Scheduler.BatchSize },
	"plugins.scripts":        func(c Config) bool { return c.Plugins.Scripts != CodeKeys || len(c.Plugins.ScriptKeys) > 0 },
	"plugins.modules":        func(c Config) bool { return c.Plugins.Modules != CodeKeys || len(c.Plugins.ModuleKeys) > 0 },
	"plugins.module_keys":    func(c Config) bool { return c.Server.allowsCodeKeys(c.Plugins.Modules, c.Plugins.ModuleKeys) },
	"plugins.script_keys":    func(c Config) bool { return c.Server.allowsCodeKeys(c.Scripts(), c.Plugins.ScriptKeys) },
	"server.priority_keys":   func(c Config) bool { return c.Server.admitsKeys(c.Server.PriorityKeys) },
	"server.ssl_cert_file":   func(c Config) bool { return c.Server.SSLCertFile != "" || c.Server.SSLKeyFile == "" },
	"server.ssl_key_file":    func(c Config) bool { return c.Server.SSLKeyFile != "" || c.Server.SSLCertFile == "" },
	"workers.tls_ca":         func(c Config) bool { return c.Workers.hasWholeTLS() },
	"workers.tls_cert":       func(c Config) bool { return c.Workers.hasWholeTLS() },
	"workers.tls_key":        func(c Config) bool { return c.Workers.hasWholeTLS() },
}

// Sentinels of a Problem; compare with errors.Is.
var (
	ErrUnknownKey = errors.New("unknown configuration key")
	ErrWrongValue = errors.New("wrong configuration value")
)

// Problem is one thing wrong with the configuration.
type Problem struct {
	Key    string // or the name of an environment variable that no key has
	Value  string // empty where it may be secret
	Origin string
	Want   string // what is allowed
	kind   error
}

// Error names key, value, origin and what is allowed.
func (p *Problem) Error() string {
	if p.Value == "" {
		return fmt.Sprintf("%v %s (%s): %s", p.kind, p.Key, p.Origin, p.Want)
	}
	return fmt.Sprintf("%v %s = %q (%s): %s", p.kind, p.Key, p.Value, p.Origin, p.Want)
}

// Unwrap returns ErrUnknownKey or ErrWrongValue.
func (p *Problem) Unwrap() error { return p.kind }

// wrongValue is the problem of a value that is not allowed. If its unit is unknown, because says
// so.
func wrongValue(s Setting, because error) error {
	p := &Problem{Key: s.Key.Name, Origin: s.Origin, Want: "must be " + s.Key.Allowed, kind: ErrWrongValue}
	if s.Key.Allowed == "" {
		p.Want = "must be a " + string(s.Key.Kind)
	}
	if !s.Key.Secret {
		p.Value = formatValue(s.Value)
	}
	if unit := (unitError{}); errors.As(because, &unit) && !s.Key.Secret {
		p.Want += "; " + unit.Error()
	}
	return p
}

// unknownKey is the problem of a key that does not exist. It hides the value if the name looks like
// a secret's.
func unknownKey(name string, raw any, origin string) error {
	want := "penstock config print lists the keys"
	if near := nearestKey(name); near != "" {
		want = "did you mean " + near + "? " + want
	}
	p := &Problem{Key: name, Origin: origin, Want: want, kind: ErrUnknownKey}
	if !strings.Contains(strings.ToLower(name), "key") {
		p.Value = formatValue(raw)
	}
	return p
}

// nearestKey finds a key that differs only in underscores or in a missing section.
func nearestKey(name string) string {
	variable := strings.HasPrefix(name, prefix)
	for _, k := range table {
		known := k.Name
		if variable {
			known = k.Variable()
		}
		if strings.ReplaceAll(known, "_", "") == strings.ReplaceAll(name, "_", "") || strings.HasSuffix(known, "."+name) {
			return known
		}
	}
	return ""
}
