// SPDX-License-Identifier: MIT
// Cool where the model is sure, warm where it is not.
// config: {"min": 0.3, "max": 1.8}
const { min = 0.5, max = 1.5 } = config;
export function sample(c) {
  c.temperature(min + (max - min) * c.entropy() / Math.log(1 + c.length));
}
