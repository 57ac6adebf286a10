// SPDX-License-Identifier: MIT

package loading

import (
	"log/slog"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/sampling"
)

// fileSampling are the names of a request for those that a model's file has (general.sampling).
var fileSampling = map[string]string{"sequence": "samplers", "temp": "temperature", "penalty_last_n": "repeat_last_n", "penalty_repeat": "repeat_penalty",
	"top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "xtc_probability": "xtc_probability", "xtc_threshold": "xtc_threshold",
	"mirostat": "mirostat", "mirostat_tau": "mirostat_tau", "mirostat_eta": "mirostat_eta"}

// sampling are the parameters of requests that do not say them: what the configuration says, else
// the model's file, else llama.cpp.
func (l *loader) sampling(e *engine.Engine) (*sampling.Defaults, error) {
	brought := map[string]string{}
	if l.config.Sampling.FromModel {
		brought = l.broughtBy(e.Info().Sampling)
	}
	if len(brought) > 0 {
		l.log.Info("the model's file brings sampling parameters, for requests that do not say them; --no-model-sampling ignores them",
			slog.Any("sampling", brought))
	}
	return sampling.NewDefaults(brought, l.config.SamplingSaid())
}

// broughtBy are those of a model's file that can be used, by the names of a request.
func (l *loader) broughtBy(file map[string]string) map[string]string {
	brought := map[string]string{}
	for key, text := range file {
		name, known := fileSampling[key]
		if !known {
			continue // of a later llama.cpp
		}
		if _, err := sampling.Default().Over(map[string]string{name: text}); err != nil {
			l.log.Warn("a sampling parameter of the model's file is ignored", slog.String("key", "general.sampling."+key), slog.Any("error", err))
			continue
		}
		brought[name] = text
	}
	return brought
}
