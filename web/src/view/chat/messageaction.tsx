// SPDX-License-Identifier: MIT

// A button below a message.
import { useSignal } from "@preact/signals";
import { t } from "../../language/language.ts";
import { useApp } from "../appcontext.ts";
import { copyText } from "../clipboard.ts";
import { Icon } from "../icon.tsx";

interface Props {
  icon: Parameters<typeof Icon>[0]["name"];
  name: string;
  title?: string;
  words?: boolean; // the name is shown beside the icon
  apart?: boolean; // at a distance from the others, so that nobody hits it who means them
  onClick(): void;
}

/** A button below a message. */
export function MessageAction({ icon, name, title = name, words = false, apart = false, onClick }: Props) {
  return (
    <button type="button" class={apart ? "action apart" : "action"} title={title} onClick={onClick}>
      <Icon name={icon} />
      <span class={words ? "" : "hidden"}>{name}</span>
    </button>
  );
}

/** Copies a text, and says so. */
export function CopyAction({ text }: { text(): string }) {
  const { notice } = useApp();
  const copied = useSignal(false);
  const copy = async () => {
    try {
      await copyText(text());
    } catch {
      notice.value = t("The browser does not let this page copy.");
      return;
    }
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 2000);
  };
  const [icon, name] = copied.value ? (["check", t("Copied")] as const) : (["copy", t("Copy")] as const);
  return <MessageAction icon={icon} name={name} onClick={() => void copy()} />;
}
