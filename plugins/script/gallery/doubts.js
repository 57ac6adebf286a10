// SPDX-License-Identifier: MIT
// Notes where the model was unsure of a token, for the inspector.
// config: {"below": 0.5}
export function accept() {
  const p = Math.exp(penstock.logprob);
  if (p < config.below) note(`sure to ${Math.round(100 * p)} %`);
}
