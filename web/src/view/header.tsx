// SPDX-License-Identifier: MIT

// The head of the page: title, model and state of the connection.
import { t } from "../language/language.ts";
import { useApp } from "./appcontext.ts";
import { Icon } from "./icon.tsx";
import { ModelButton } from "./models/modelbutton.tsx";
import { StatusLine } from "./serverstatus.tsx";
import { viewNames } from "./viewnames.ts";

/**
 * The head of the page: what is shown, the model, and whether there is a server at the other end.
 */
export function Header() {
  const { chats, layout, view } = useApp();
  const inChat = view.value === "chat";
  const title =
    view.value === "chat" ? chats.current.value.title.value || t("New chat") : viewNames[view.value];
  return (
    <header class="bar">
      {(layout.narrow.value || !layout.sidebar.value) && <SidebarButtons />}
      <div class="heading">
        <h1 dir="auto" title={title}>
          {title}
        </h1>
        {inChat && <ModelChoice />}
      </div>
      <StatusLine />
      {inChat && <DrawerButton kind="script" name={t("Script")} title={t("Script of the chat (E)")} />}
      {inChat && <DrawerButton kind="settings" name={t("Settings")} title={t("Settings of the chat (S)")} />}
    </header>
  );
}

/** Opens a drawer of the chat, or closes it. */
function DrawerButton({ kind, name, title }: { kind: "settings" | "script"; name: string; title: string }) {
  const app = useApp();
  return (
    <button
      type="button"
      class="quiet"
      aria-expanded={app.drawer.value?.kind === kind}
      title={title}
      onClick={() => app.toggle(kind)}
    >
      <Icon name={kind} />
      <span>{name}</span>
    </button>
  );
}

/** What the sidebar would offer. */
function SidebarButtons() {
  const { chats, layout, view } = useApp();
  return (
    <div class="opens">
      <button
        type="button"
        class="quiet"
        aria-label={t("Open the sidebar")}
        title={t("Open the sidebar (B)")}
        onClick={() => layout.show(true)}
      >
        <Icon name={layout.narrow.value ? "menu" : "sidebar"} />
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={t("New chat")}
        title={t("New chat (N)")}
        onClick={() => {
          view.value = "chat";
          chats.begin();
        }}
      >
        <Icon name="compose" />
      </button>
    </div>
  );
}

/** The model of this chat. Where the host has several, another can be chosen. */
function ModelChoice() {
  const app = useApp();
  const { settings } = app.chats.current.value;
  const models = app.models.value;
  const model = app.modelOf(settings.value).model ?? models[0] ?? "";
  if (models.length < 2 && (models.length === 0 || models.includes(model))) {
    return (
      <p class="model" id="model" title={t("The model that answers")}>
        {model}
      </p>
    );
  }
  return (
    <ModelButton
      class="model"
      id="model"
      label={t("Model: {model}", { model })}
      chosen={model}
      choose={(name) => app.chooseModel(app.chats.current.peek(), name)}
    >
      {models.includes(model) ? model : t("{model} (not served)", { model })}
    </ModelButton>
  );
}
