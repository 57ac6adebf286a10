// SPDX-License-Identifier: MIT

package table

func features() []Feature {
	return []Feature{
		{"implements", "the manifest's `implements` has an effect; without this feature a plugin implements what it exports"},
		{"branches", "a plugin may export `penstock_run`, a program that owns the request; its host functions are separate imports from `penstock-optional`"},
		{"sample_keep", "`penstock_sample` may return −1 − k: the first k candidates stay"},
		{"prepare_force_many", "`penstock_prepare` may force several tokens with one bit 4: n from 1 to cap, see *prepare bits*; without it n must be 1"},
		{"stop_replay", "a plugin with `penstock_stop` and without `penstock_rewind` starts again if text that it was shown was taken back, and is shown the remaining text again; see `penstock_rewind`"},
		{"sample_bias", "`penstock_sample` may return that the bias buffer is to be added to the logits: it can then change some logits after seeing them, without the whole row, and without dropping tokens outside the view. Worked: the bias buffer has n = 1 and the entry (7, −2.5), and the answer is −2147483648: the next stage sees the logit of token 7 lowered by 2.5, whether the view had shown it or not"},
		{"take_back", "the manifest's `take_back` has an effect"},
		{"state_layer", "the manifest's and a plan's `state_layer` have an effect"},
		{"strict_mask", "the manifest's `strict_mask` has an effect"},
		{"param_time", "`param` returns the request's time; without this feature it returns −1, as for any unknown kind"},
		{"param_choice", "`param` returns the number of this choice and how many there are; without this feature it returns −1"},
		{"config_defaults", "`config` includes the `default` values of the manifest's schema where the request gave none; without this feature the plugin fills them in itself. A host looks for defaults in `properties`, `items` and `prefixItems`, and follows `$ref` and `allOf`. Required properties must still be given. If a configuration only fits the schema without the defaults, it gets none"},
		{"fail_trap", "the text that `fail` was given before a trap is the fault's; without this feature the fault says where the call trapped"},
	}
}
