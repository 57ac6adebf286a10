// SPDX-License-Identifier: MIT

package config

import "time"

// Who may bring code, as plugins.scripts and plugins.modules say it.
const (
	CodeOn   = "on"   // everybody who may use the model
	CodeOff  = "off"  // nobody
	CodeKeys = "keys" // those of plugins.script_keys, or plugins.module_keys
)

var codeKeys = []Key{
	{Name: "plugins.scripts", Flag: "scripts", Kind: Text, Default: "auto", check: oneOf("auto", CodeOn, CodeOff, CodeKeys),
		Allowed: "auto, on, off, or keys with plugins.script_keys",
		Help: "who may send scripts in requests: all clients (on), nobody (off), or those of plugins.script_keys (keys); auto: keys where some are listed; " +
			"else off with plugins.lock; else on where the server asks for keys or listens on this machine alone; else off. Scripts in the plugin folder are the operator's, and always there"},
	{Name: "plugins.script_keys", Flag: "script-key", Kind: List, Default: []string{}, Protects: true, check: noBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any, with plugins.scripts keys or auto",
		Help:    "keys whose requests may bring scripts; none: as plugins.scripts says"},
	{Name: "plugins.modules", Flag: "modules", Kind: Text, Default: CodeOff, check: oneOf(CodeOn, CodeOff, CodeKeys),
		Allowed: "on, off, or keys with plugins.module_keys",
		Help: "who may upload WebAssembly modules for requests of their own: all clients (on), nobody (off), or those of plugins.module_keys (keys). " +
			"With plugins.lock only modules that it lists are taken"},
	{Name: "plugins.module_keys", Flag: "module-key", Kind: List, Default: []string{}, Protects: true, check: noBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any, with plugins.modules keys",
		Help:    "keys that may upload modules for requests of their own"},
	{Name: "plugins.module_ttl", Flag: "module-ttl", Kind: Duration, Default: time.Hour, check: lasting(time.Second, 10000*time.Hour),
		Allowed: "1s to 10000h", Help: "how long such a module is kept in memory after its last use"},
}

// Scripts is who may send scripts in requests: CodeOn, CodeOff or CodeKeys. What is
// reached by other machines is judged by server.listen, as in Risks.
func (c Config) Scripts() string {
	listen := c.Server.Listen
	switch {
	case c.Plugins.Scripts != "auto":
		return c.Plugins.Scripts
	case len(c.Plugins.ScriptKeys) > 0:
		return CodeKeys
	case len(c.Plugins.Lock) > 0: // the operator has said which code may run
		return CodeOff
	case c.Server.NeedsKey(), listen.Socket != "", listen.Loopback():
		return CodeOn
	}
	return CodeOff
}

// usesCodeKeys is false where keys are listed for code and do not count: who may bring it is said
// in another way, or one of them would not be let in.
func (s Server) usesCodeKeys(who string, keys []string) bool {
	return (len(keys) == 0 || who == CodeKeys) && s.knows(keys)
}
