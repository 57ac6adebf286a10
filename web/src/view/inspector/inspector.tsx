// SPDX-License-Identifier: MIT

export default function InspectorView() {
  return <p>The tokens of the answer.</p>;
}
