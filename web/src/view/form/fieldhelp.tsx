// SPDX-License-Identifier: MIT

// The text below a field: what it is for, its limits, and what is wrong.
import { limitWords } from "../../plugins/schema.ts";
import { sentence } from "../../text/sentence.ts";
import type { FieldProps } from "./formcontext.ts";

/** Marks a field that must be set. */
export function Needed() {
  return <span class="needed"> needed</span>;
}

interface HelpProps {
  id: string;
  schema: FieldProps["schema"];
  more?: string; // besides what the schema tells
  problem: string | undefined;
}

/** What a field is for, its limits, and what is wrong with it. */
export function FieldHelp({ id, schema, more = "", problem }: HelpProps) {
  const about = typeof schema.description === "string" ? schema.description : "";
  const bounds = [limitWords(schema), more].filter(Boolean).join("; ");
  return (
    <>
      {about + bounds !== "" && (
        <p class="hint" id={`${id}-help`}>
          {sentence(about)}
          {about !== "" && bounds !== "" && " "}
          {sentence(bounds)}
        </p>
      )}
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
}
