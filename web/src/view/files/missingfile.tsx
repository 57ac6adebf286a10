// SPDX-License-Identifier: MIT
import { Icon } from "../icon.tsx";

/** Stands for a file whose bytes are lost. */
export function Gone({ name }: { name: string }) {
  return (
    <span class="gone">
      <Icon name="file" />
      {name} is no longer in this browser
    </span>
  );
}
