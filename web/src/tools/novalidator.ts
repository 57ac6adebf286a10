// SPDX-License-Identifier: MIT

// In the place of the packages "ajv" and "ajv-formats" (vite.config.ts): MCP's SDK imports them for
// those who pass it no validator, and they were nearly half of the worker.

export default class NoValidator {
  constructor() {
    throw new Error("mcp.worker.ts passes a validator to the SDK"); // untranslated: a defect of ours
  }
}
