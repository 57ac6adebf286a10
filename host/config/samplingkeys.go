// SPDX-License-Identifier: MIT

package config

import (
	"strings"

	"github.com/penstock/penstock/host/sampling"
)

// samplingSection has the sampling parameters of requests that do not say them, by the names of a
// request.
const samplingSection = "sampling."

// samplingKeys are that section, with llama-server's flags. Ranges and defaults are those of
// requests.
var samplingKeys = []Key{
	{Name: samplingSection + "from_model", Flag: "model-sampling", Kind: Switch, Default: true, Allowed: "true or false",
		Help: "use the sampling parameters of the model's file (general.sampling) if neither the request nor these keys set others"},
	{Name: samplingSection + "seed", Flag: "seed", Aliases: []string{"-s"}, Kind: Integer, Default: -1, check: between(-1, 1<<31-1),
		Allowed: "-1 or more", Help: "seed of requests that name none; -1: a random one each time"},
	{Name: samplingSection + "samplers", Flag: "samplers", Aliases: []string{"--sampler-seq", "--sampling-seq"}, Kind: List,
		Default: []string(sampling.Default().Chain), check: areSamplers, Allowed: "names of samplers such as top_k;temperature, letters such as kt, or plugin:NAME",
		Help: "samplers and plugins of a request, in their order"},
	samplingKey("temperature", "", "--temp", "0 takes the most likely token each time"),
	samplingKey("dynatemp_range", "dynatemp-range", "", "the temperature moves up and down by so much, by the entropy; 0: off"),
	samplingKey("dynatemp_exponent", "dynatemp-exp", "", "how the temperature follows the entropy"),
	samplingKey("top_k", "", "", "so many of the most likely tokens stay; 0: all"),
	samplingKey("top_p", "", "", "the most likely tokens with this probability together stay; 1: all"),
	samplingKey("min_p", "", "", "tokens with less than this share of the most likely one's probability go; 0: none"),
	samplingKey("typical_p", "typical", "--typical-p", "the most typical tokens with this probability together stay; 1: all"),
	samplingKey("top_n_sigma", "", "--top-nsigma", "tokens whose logit is within so many standard deviations of the best stay; -1: all"),
	samplingKey("xtc_probability", "", "", "how often the most likely tokens go, so that rarer ones come; 0: never"),
	samplingKey("xtc_threshold", "", "", "probability from which xtc_probability counts; above 0.5: off"),
	samplingKey("repeat_last_n", "", "", "tokens that the penalties look back; -1: the whole context, 0: off"),
	samplingKey("repeat_penalty", "", "", "penalty of tokens that were there; 1: none"),
	samplingKey("presence_penalty", "", "", "subtracted from the logits of tokens that were there"),
	samplingKey("frequency_penalty", "", "", "subtracted from the logit of a token, times how often it was there"),
	samplingKey("dry_multiplier", "", "", "strength of the penalty of repeated sequences; 0: off"),
	samplingKey("dry_base", "", "", "how that penalty grows with the length"),
	samplingKey("dry_allowed_length", "", "", "tokens that may be repeated without that penalty"),
	samplingKey("dry_penalty_last_n", "", "", "tokens that it looks back; -1: the whole context, 0: off"),
	samplingKey("mirostat", "", "", "version of Mirostat, which then chooses alone; 0: off"),
	samplingKey("mirostat_tau", "mirostat-ent", "", "surprise that Mirostat aims at"),
	samplingKey("mirostat_eta", "mirostat-lr", "", "how fast Mirostat learns"),
	samplingKey("adaptive_target", "", "", "probability that adaptive_p aims at; -1: off"),
	samplingKey("adaptive_decay", "", "", "how long adaptive_p remembers"),
}

// samplingKey is the key of a number. An empty flag is the name with dashes.
func samplingKey(name, flag, alias, help string) Key {
	r := sampling.RangeOf(name)
	k := Key{Name: samplingSection + name, Flag: flag, Kind: Number, Default: r.Default, check: within(r.Low, r.High),
		Allowed: strings.TrimPrefix(strings.TrimPrefix(r.Want, "a number "), "an integer "), Help: help}
	if flag == "" {
		k.Flag = strings.ReplaceAll(name, "_", "-")
	}
	if alias != "" {
		k.Aliases = []string{alias}
	}
	if r.Integer {
		k.Kind, k.Default, k.check = Integer, int(r.Default), between(int(r.Low), int(r.High))
	}
	return k
}

func areSamplers(v any) bool {
	_, err := sampling.Default().Over(map[string]string{"samplers": strings.Join(v.([]string), ",")})
	return err == nil
}

// SamplingSaid are the sampling parameters that the configuration says, as texts by the names of a
// request.
func (c Config) SamplingSaid() map[string]string {
	said := map[string]string{}
	for _, s := range c.settings {
		name, is := strings.CutPrefix(s.Key.Name, samplingSection)
		if !is || s.Origin == "default" || name == "from_model" {
			continue
		}
		said[name] = show(s.Value)
	}
	return said
}
