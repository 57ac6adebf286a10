// SPDX-License-Identifier: MIT

package table

func features() []Feature {
	return []Feature{
		{"branches", "a plugin may export `penstock_run`, a program that owns the request; its host functions are imports of their own, from `penstock-optional`"},
		{"sample_keep", "`penstock_sample` may answer −1 − k: the first k candidates stay"},
		{"prepare_force_many", "`penstock_prepare` may force several tokens with one bit 4: n from 1 to cap, see *prepare bits*; without it n must be 1"},
		{"config_defaults", "`config` has the values that the manifest's schema gives a `default` for, where the request gave none; without it the plugin fills them in. A host looks for defaults in `properties`, `items` and `prefixItems`, and follows `$ref` and `allOf`. What is required must still be given. Where a configuration fits the schema only without the defaults, it gets none"},
	}
}
