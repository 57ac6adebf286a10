// SPDX-License-Identifier: MIT

// A bar that is filled by parts.

interface Props {
  label: string;
  parts: readonly { kind: string; part: number }[]; // of 1, one after the other
}

/** A bar that is filled by parts. SVG, since the page allows no style in its HTML. */
export function Meter({ label, parts }: Props) {
  let from = 0;
  return (
    <svg class="meter" role="img" aria-label={label} viewBox="0 0 100 1" preserveAspectRatio="none">
      {parts.map(({ kind, part }) => {
        const width = Math.min(Math.max(part * 100, 0), 100 - from);
        const x = from;
        from += width;
        return <rect key={kind} data-part={kind} x={x} y="0" width={width} height="1" />;
      })}
    </svg>
  );
}
