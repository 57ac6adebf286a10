// SPDX-License-Identifier: MIT

// Runs before the page is drawn, so that it never flashes in the other theme. A script in the page
// itself would need a hole in its Content-Security-Policy.
try {
  const { theme } = JSON.parse(localStorage.getItem("penstock.page") ?? "{}") ?? {};
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // nothing is kept: the system's theme
}
