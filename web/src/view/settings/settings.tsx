// SPDX-License-Identifier: MIT

export default function SettingsView() {
  return <p>Settings of the chat.</p>;
}
