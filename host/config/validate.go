// SPDX-License-Identifier: MIT

package config

import (
	"errors"
	"slices"
)

// Validate checks every value against its allowed range, and values against each other. It returns
// all that is wrong, joined.
func (c Config) Validate() error {
	var problems []error
	for _, s := range c.settings {
		check := relations[s.Key.Name]
		if s.Key.check != nil && !s.Key.check(s.Value) || check != nil && !check(c) {
			problems = append(problems, wrong(s, nil))
		}
	}
	return errors.Join(problems...)
}

// relations are false for a key whose value does not fit another's.
var relations = map[string]func(Config) bool{
	"chat.template_file":     func(c Config) bool { return c.Chat.TemplateFile == "" || c.Chat.Template == "" },
	"model.image_min_tokens": func(c Config) bool { return c.Model.tokensInOrder() },
	"model.cache_type_v":     func(c Config) bool { return c.Model.FlashAttn != "off" || !c.Model.hasQuantisedV() },
	"model.rope_scale":       func(c Config) bool { return c.Model.RopeScale == 0 || c.Model.RopeFreqScale == 0 },
	"scheduler.ubatch_size":  func(c Config) bool { return c.Scheduler.UBatchSize <= c.Scheduler.BatchSize },
	"server.priority_keys":   func(c Config) bool { return c.Server.knowsPriorityKeys() },
	"server.ssl_cert_file":   func(c Config) bool { return c.Server.SSLCertFile != "" || c.Server.SSLKeyFile == "" },
	"server.ssl_key_file":    func(c Config) bool { return c.Server.SSLKeyFile != "" || c.Server.SSLCertFile == "" },
	"workers.tls_ca":         func(c Config) bool { return c.Workers.tlsWhole() },
	"workers.tls_cert":       func(c Config) bool { return c.Workers.tlsWhole() },
	"workers.tls_key":        func(c Config) bool { return c.Workers.tlsWhole() },
}

// knowsPriorityKeys is false where a key may raise priorities that would not be let in. The keys
// of a file are not known here.
func (s Server) knowsPriorityKeys() bool {
	return len(s.APIKeys) == 0 || s.APIKeyFile != "" ||
		!slices.ContainsFunc(s.PriorityKeys, func(key string) bool { return !slices.Contains(s.APIKeys, key) })
}
