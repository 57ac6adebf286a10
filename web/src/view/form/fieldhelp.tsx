// SPDX-License-Identifier: MIT

// The text below a field: what it is for, its limits, and what is wrong.
import { t } from "../../language/language.ts";
import { limitWords } from "../../plugins/schema.ts";
import { sentence } from "../../text/sentence.ts";
import type { FieldProps } from "./formcontext.ts";

/** Marks a field that must be set. */
export function Needed() {
  return <span class="needed"> {t("needed")}</span>;
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
  const own = limitWords(schema);
  const limits = own !== "" && more !== "" ? t("{one}; {other}", { one: own, other: more }) : own + more;
  return (
    <>
      {about + limits !== "" && (
        <p class="hint" id={`${id}-help`}>
          {sentence(about)}
          {about !== "" && limits !== "" && " "}
          {limits !== "" && t("{limits}.", { limits: limits.charAt(0).toUpperCase() + limits.slice(1) })}
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
