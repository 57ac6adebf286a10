// SPDX-License-Identifier: MIT

package abi

import "slices"

// Has tells whether a list, Imports or Exports, has a function of a name.
func Has(list []Signature, name string) bool {
	return slices.ContainsFunc(list, func(s Signature) bool { return s.Name == name })
}

// Import is the import of a name; nil if there is none.
func Import(name string) *Signature {
	if at := slices.IndexFunc(Imports, func(s Signature) bool { return s.Name == name }); at >= 0 {
		return &Imports[at]
	}
	return nil
}
