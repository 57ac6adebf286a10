// SPDX-License-Identifier: MIT

/** Browsers have navigator.clipboard only on https and localhost; a host in the local network has neither. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
