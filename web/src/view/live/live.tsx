// SPDX-License-Identifier: MIT

export default function LiveView() {
  return (
    <main id="scroller">
      <h2>Live</h2>
    </main>
  );
}
