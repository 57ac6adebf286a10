// SPDX-License-Identifier: MIT

// A switch with a line of explanation: whether what stands here is used in answers.

interface Props {
  label: string;
  help: string;
  on: boolean;
  disabled?: boolean;
  turn(on: boolean): void;
}

export function UseSwitch({ label, help, on, disabled = false, turn }: Props) {
  return (
    <label class="use">
      <input
        type="checkbox"
        role="switch"
        class="switch"
        checked={on}
        aria-checked={on}
        disabled={disabled}
        onChange={(event) => turn(event.currentTarget.checked)}
      />
      <span>
        {label}
        <small>{help}</small>
      </span>
    </label>
  );
}
