// SPDX-License-Identifier: MIT

// Where a person comes back to from the sign-in of an MCP server. It tells the tabs of this browser
// what the address says, and the one that knows its state goes on. The address is not kept.
const told = new URLSearchParams(location.search);
history.replaceState(undefined, "", location.pathname);
const channel = new BroadcastChannel("penstock-oauth");
const names = ["state", "code", "iss", "error", "error_description"];
channel.postMessage(Object.fromEntries(names.map((name) => [name, told.get(name) ?? ""])));
