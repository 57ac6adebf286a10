// SPDX-License-Identifier: MIT

package table

func features() []Feature {
	return []Feature{
		{"branches", "a plugin may export `penstock_run`, a program that owns the request; its host functions are imports of their own, from `penstock-optional`"},
		{"sample_keep", "`penstock_sample` may answer −1 − k: the first k candidates stay"},
		{"prepare_force_many", "`penstock_prepare` may force several tokens with one bit 4: n from 1 to cap, see *prepare bits*; without it n must be 1"},
		{"stop_replay", "a plugin with `penstock_stop` and without `penstock_rewind` begins anew where text that it was shown was taken back, and is shown again what stands; see `penstock_rewind`"},
		{"sample_bias", "`penstock_sample` may answer that the bias buffer is to be added to the logits: some are changed after seeing them, without the whole row, and without dropping what the view does not show. Worked: the bias buffer has n = 1 and the entry (7, −2.5), and the answer is −2147483648: the next stage sees the logit of token 7 lowered by 2.5, whether the view had shown it or not"},
		{"take_back", "the manifest's `take_back` is heeded"},
		{"strict_mask", "the manifest's `strict_mask` is heeded"},
		{"param_time", "`param` tells the request's time; without it the answer is −1, as for any unknown kind"},
		{"param_choice", "`param` tells which of how many choices this is; without it the answers are −1"},
		{"config_defaults", "`config` has the values that the manifest's schema gives a `default` for, where the request gave none; without it the plugin fills them in. A host looks for defaults in `properties`, `items` and `prefixItems`, and follows `$ref` and `allOf`. What is required must still be given. Where a configuration fits the schema only without the defaults, it gets none"},
	}
}
