// SPDX-License-Identifier: MIT

package host

// Seeing implements serving.Models. A client that names no model that is here leaves the choice to
// the server: the first one that sees.
func (m *models) Seeing(name string) string {
	if name != "" && (m.several() || m.config.Model.Strict || m.named(name) != "") {
		return name
	}
	for _, known := range m.names() {
		if m.listed(known).Media.Images {
			return known
		}
	}
	return name
}
