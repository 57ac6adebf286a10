// SPDX-License-Identifier: MIT

export default function PluginsView() {
  return (
    <main id="scroller">
      <h2>Plugins</h2>
    </main>
  );
}
