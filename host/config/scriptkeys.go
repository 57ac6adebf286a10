// SPDX-License-Identifier: MIT

package config

// Who may send scripts in requests, as plugins.scripts says it.
const (
	ScriptsOn   = "on"   // everybody who may use the model
	ScriptsOff  = "off"  // nobody
	ScriptsKeys = "keys" // those of plugins.script_keys
)

var scriptKeys = []Key{
	{Name: "plugins.scripts", Flag: "scripts", Kind: Text, Default: "auto", check: oneOf("auto", ScriptsOn, ScriptsOff, ScriptsKeys),
		Allowed: "auto, on, off, or keys with plugins.script_keys",
		Help: "who may send scripts in requests: all clients (on), nobody (off), or those of plugins.script_keys (keys); auto: keys where some are listed; " +
			"else off with plugins.lock; else on where the server asks for keys or listens on this machine alone; else off. Scripts in the plugin folder are the operator's, and always there"},
	{Name: "plugins.script_keys", Flag: "script-key", Kind: List, Default: []string{}, Protects: true, check: noBlanks, Secret: true,
		Allowed: "keys of server.api_keys or server.api_key_file, where there are any, with plugins.scripts keys or auto",
		Help:    "keys whose requests may bring scripts; none: as plugins.scripts says"},
}

// Scripts is who may send scripts in requests: ScriptsOn, ScriptsOff or ScriptsKeys. What is
// reached by other machines is judged by server.listen, as in Risks.
func (c Config) Scripts() string {
	listen := c.Server.Listen
	switch {
	case c.Plugins.Scripts != "auto":
		return c.Plugins.Scripts
	case len(c.Plugins.ScriptKeys) > 0:
		return ScriptsKeys
	case len(c.Plugins.Lock) > 0: // the operator has said which code may run
		return ScriptsOff
	case c.Server.NeedsKey(), listen.Socket != "", listen.Loopback():
		return ScriptsOn
	}
	return ScriptsOff
}

// usesScriptKeys is false where keys are listed and do not count.
func (c Config) usesScriptKeys() bool {
	return len(c.Plugins.ScriptKeys) == 0 || c.Scripts() == ScriptsKeys
}
