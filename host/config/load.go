// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
)

// DefaultFile is read where no file is named, if it is there.
const DefaultFile = "penstock.yaml"

// defaultPort is that of server.listen, for a server.host beside the path of a socket.
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
	text := show(s.Value)
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
	c, err := l.config()
	c.named, c.services = l.namedModels(), l.services
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

// set takes a value from a source; a wrong one is noted and leaves the key as it was. An empty
// text may stand for an unset variable of a script, and the server must not be open for that; an
// empty list in the file says that there is none.
func (l *loader) set(name string, raw any, origin string) {
	setting := l.find(name)
	if setting == nil {
		l.problems = append(l.problems, unknown(name, raw, origin))
		return
	}
	value, err := setting.Key.Kind.parse(raw)
	if err != nil {
		l.problems = append(l.problems, wrong(Setting{Key: setting.Key, Value: raw, Origin: origin}, err))
		return
	}
	if _, isText := raw.(string); isText && setting.Key.Protects && show(value) == "" {
		l.problems = append(l.problems, &Problem{Key: name, Origin: origin, kind: ErrWrongValue,
			Want: "is empty, and the server would do without what it protects; give it a value, or leave it out"})
		return
	}
	setting.Value, setting.Origin = value, origin
}

// fitMicroBatch makes the default of ubatch_size follow a smaller batch_size; one that was asked
// for is checked.
func (l *loader) fitMicroBatch() {
	batch, ubatch := l.find("scheduler.batch_size"), l.find("scheduler.ubatch_size")
	if ubatch.Origin == "default" {
		ubatch.Value = min(ubatch.Value.(int), batch.Value.(int))
	}
}

// placeListener puts server.host and server.port in the place of those of server.listen. A Unix
// socket has no port. What cannot be read stays where it is, to be refused later.
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

// placeTimeout puts server.timeout in the place of those that it replaces.
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

func (l *loader) find(name string) *Setting {
	i := slices.IndexFunc(l.settings, func(s Setting) bool { return s.Key.Name == name })
	if i < 0 {
		return nil
	}
	return &l.settings[i]
}

// config checks the settings, and has them as what they stand for. Its error joins what is wrong
// with each; where nothing is, what is wrong between them.
func (l *loader) config() (Config, error) {
	var problems []error
	for _, s := range l.settings {
		if s.Key.check != nil && !s.Key.check(s.Value) {
			problems = append(problems, wrong(s, nil))
		}
	}
	if problems != nil {
		return Config{settings: l.settings}, errors.Join(problems...)
	}
	c, err := l.merged()
	if err != nil {
		return c, err
	}
	for _, s := range l.settings {
		if fits := relations[s.Key.Name]; fits != nil && !fits(c) {
			problems = append(problems, wrong(s, nil))
		}
	}
	return c, errors.Join(problems...)
}

// merged has settings that were checked as what they stand for. It does not check them again: a
// folder may have gone since.
func (l *loader) merged() (Config, error) {
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

// relations are false for a key whose value does not fit another's.
var relations = map[string]func(Config) bool{
	"chat.template_file":     func(c Config) bool { return c.Chat.TemplateFile == "" || c.Chat.Template == "" },
	"model.image_min_tokens": func(c Config) bool { return c.Model.tokensInOrder() },
	"model.cache_type_v":     func(c Config) bool { return c.Model.FlashAttn != "off" || !c.Model.hasQuantisedV() },
	"model.rope_scale":       func(c Config) bool { return c.Model.RopeScale == 0 || c.Model.RopeFreqScale == 0 },
	"scheduler.ubatch_size":  func(c Config) bool { return c.Scheduler.UBatchSize <= c.Scheduler.BatchSize },
	"plugins.scripts":        func(c Config) bool { return c.Plugins.Scripts != CodeKeys || len(c.Plugins.ScriptKeys) > 0 },
	"plugins.modules":        func(c Config) bool { return c.Plugins.Modules != CodeKeys || len(c.Plugins.ModuleKeys) > 0 },
	"plugins.module_keys":    func(c Config) bool { return c.Server.usesCodeKeys(c.Plugins.Modules, c.Plugins.ModuleKeys) },
	"plugins.script_keys":    func(c Config) bool { return c.Server.usesCodeKeys(c.Scripts(), c.Plugins.ScriptKeys) },
	"server.priority_keys":   func(c Config) bool { return c.Server.knows(c.Server.PriorityKeys) },
	"server.ssl_cert_file":   func(c Config) bool { return c.Server.SSLCertFile != "" || c.Server.SSLKeyFile == "" },
	"server.ssl_key_file":    func(c Config) bool { return c.Server.SSLKeyFile != "" || c.Server.SSLCertFile == "" },
	"workers.tls_ca":         func(c Config) bool { return c.Workers.tlsWhole() },
	"workers.tls_cert":       func(c Config) bool { return c.Workers.tlsWhole() },
	"workers.tls_key":        func(c Config) bool { return c.Workers.tlsWhole() },
}

// knows is false where one of the keys that may do more would not be let in. The keys of a file are
// not known here.
func (s Server) knows(keys []string) bool {
	return len(s.APIKeys) == 0 || s.APIKeyFile != "" ||
		!slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(s.APIKeys, key) })
}
