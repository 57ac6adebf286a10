// SPDX-License-Identifier: MIT

// App joins the stores: it is the only place that knows all of them.
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { Answers } from "./chats/answers.ts";
import type { Chat } from "./chats/chat.ts";
import { Chats } from "./chats/chats.ts";
import type { ChatStore } from "./chats/chatstore.ts";
import type { Drafts } from "./chats/drafts.ts";
import { type Message, mediaOf, openCalls } from "./chats/message.ts";
import { QuestionQueue } from "./chats/questionqueue.ts";
import type { RunningAnswer } from "./chats/runninganswer.ts";
import type { Tabs } from "./chats/tabs.ts";
import type { KeyKeeper } from "./host/apikeys.ts";
import { Connection } from "./host/connection.ts";
import { remedy } from "./host/erroradvice.ts";
import { FileFrames } from "./host/fileframes.ts";
import type { GenerateRequest, HostError } from "./host/protocol.ts";
import { type Model, type Plugin, type Props, Rest } from "./host/rest.ts";
import { Streams } from "./host/streams.ts";
import { t } from "./language/language.ts";
import type { Layout } from "./layout.ts";
import { LiveSubscription } from "./live/livesubscription.ts";
import { Progresses } from "./live/progress.ts";
import { type Abilities, allAbilities, isPicture, mostFileBytes } from "./media/medialimits.ts";
import { once } from "./once.ts";
import { isDefault } from "./plugins/pluginchoice.ts";
import { requestFor } from "./settings/request.ts";
import { defaultSettings, type Settings } from "./settings/settings.ts";
import type { StartingSettings } from "./settings/startingsettings.ts";
import { programsIn } from "./settings/strategies.ts";
import { sentence, withoutPaths } from "./text/sentence.ts";
import type { ToolServers } from "./tools/toolservers.ts";
import { openTraces, Traces } from "./trace/traces.ts";

/** What fills the page. */
export type View = "chat" | "models" | "plugins" | "live";

/** What stands beside the chat. */
export type Drawer = { kind: "settings" | "script" } | { kind: "inspector"; message: string; token: number };

/** What was done, and a way back. */
export interface Offer {
  text: string;
  action: string;
  lasts?: boolean; // until it is taken or closed; else for some seconds
  run(): void;
}

/** The parts of the page, and what is known of the host. */
export class App {
  readonly served: Signal<readonly Model[]> = signal([]); // as the host told it last
  readonly models: ReadonlySignal<readonly string[]> = computed(() =>
    this.served.value.map(({ name }) => name),
  );
  readonly plugins: Signal<readonly Plugin[]> = signal([]);
  readonly props: Signal<Props> = signal({ defaults: {}, template: {} }); // of the model that the host would use
  readonly view: Signal<View> = signal("chat");
  readonly drawer: Signal<Drawer | undefined> = signal(undefined);
  readonly notice = signal(""); // what went wrong outside of any answer
  readonly offer: Signal<Offer | undefined> = signal(undefined);
  readonly rest: Rest;
  readonly connection: Connection;
  readonly answers: Answers;
  readonly chats: Chats;
  readonly traces: Traces;
  readonly queue: QuestionQueue;
  readonly watching: LiveSubscription;
  readonly progresses: Progresses;

  constructor(
    readonly base: URL,
    readonly keeper: KeyKeeper,
    readonly starting: StartingSettings,
    readonly layout: Layout,
    readonly store: ChatStore,
    readonly drafts: Drafts,
    readonly servers: ToolServers,
    private readonly tabs?: Tabs,
  ) {
    this.rest = new Rest(base, () => keeper.key);
    this.connection = new Connection({
      probe: () => this.look(),
      socket: () => this.rest.socket(this.answers.home),
    });
    const refused = (error: HostError) => {
      this.notice.value = `${withoutPaths(sentence(error.message))} ${remedy(error)}`.trim();
    };
    const files = new FileFrames(
      this.connection,
      (file) => store.file(file),
      () => this.mostBytes,
    );
    const streams = new Streams(this.connection, refused, files);
    const online = computed(() => this.connection.status.value.kind === "online");
    this.answers = new Answers(streams, online, tabs);
    this.watching = new LiveSubscription(this.connection);
    const waits = computed(() =>
      [...this.answers.running.value.values()].some((run) => run.message.value.answer?.phase === "waiting"),
    );
    this.progresses = new Progresses(this.connection, this.watching, waits);
    const around = {
      answers: this.answers,
      request: (settings: Settings, messages: readonly Message[]) =>
        this.request({ ...settings, trace: this.records(settings) }, messages),
    };
    this.chats = new Chats(store, around, starting, tabs);
    this.queue = new QuestionQueue(drafts, this.chats);
    this.chats.unsent = this.queue;
    this.traces = new Traces(this.answers.running, openTraces);
    this.traces.follow(this.chats.list);
    this.answers.whenEnded = (run) => {
      if (run.chat === "") return; // no chat keeps it
      if (openCalls(run.message.peek()).length === 0) return this.suggestTitle(run);
      this.toolCalls().then(
        (calls) => calls.begin(run),
        () => {}, // the calls wait for a person
      );
    };
  }

  /**
   * The model that answers with these settings. A host with several wants its name: that of the
   * first that can be loaded, or where pictures are sent and that reads text only, the name of one
   * that sees.
   */
  modelOf({ model }: Settings, pictures = false): { model?: string } {
    const served = this.served.value;
    const first = served.find(({ failed }) => failed === "") ?? served[0];
    if (model !== undefined) return { model };
    if (first === undefined || served.length < 2) return {};
    const reads = first.abilities ?? allAbilities;
    const sees = pictures && !reads.sees && !reads.hears && served.find(({ abilities }) => abilities?.sees);
    return { model: (sees || first).name };
  }

  /** The name of the model that answers with these settings; "" where none is known. */
  answering(settings: Settings, pictures = false): string {
    return this.modelOf(settings, pictures).model ?? this.models.value[0] ?? "";
  }

  /**
   * How many tokens a model can have in mind; undefined where that is not known, as of one that is
   * not loaded.
   */
  contextOf(model: string): number | undefined {
    const { props, served } = this;
    if (served.value.length < 2 || props.value.model === model) return props.value.context;
    return served.value.find(({ name }) => name === model)?.context;
  }

  /** What a model takes besides text. Of one that says nothing the host does, once it is asked. */
  abilitiesOf(model: string): Abilities {
    const { props, served } = this;
    const told = served.value.find(({ name }) => name === model)?.abilities;
    if (told !== undefined) return told;
    const known = served.value.length < 2 || props.value.model === model;
    return (known ? props.value.abilities : undefined) ?? allAbilities;
  }

  /** How many bytes of pictures and sounds the host takes for an answer. */
  get mostBytes(): number {
    return mostFileBytes(this.props.value.bodyLimit);
  }

  /**
   * Has a model answer in a chat, and new chats begin with it. A chat without messages gets the
   * settings that are kept for the model.
   */
  chooseModel({ settings, tree }: Pick<Chat, "settings" | "tree">, model: string): void {
    const before = settings.peek();
    const own = tree.path.peek().length === 0 ? this.starting.of(model) : undefined;
    settings.value = { ...(own ?? before), model };
    this.starting.chose(model);
    if (own === undefined) return;
    const run = () => {
      settings.value = { ...before, model };
    };
    this.offer.value = {
      text: t("The chat has your settings for {model}.", { model }),
      action: t("Undo"),
      run,
    };
  }

  /** Opens the chat's settings or its script beside it, or closes them. */
  toggle(kind: "settings" | "script"): void {
    this.drawer.value = this.drawer.peek()?.kind === kind ? undefined : { kind };
  }

  /** Asks the host anew which models it has, and which are loaded. */
  async refreshModels(): Promise<void> {
    this.served.value = await this.rest.models();
  }

  /**
   * Whether a record is kept of the tokens of a chat's answers: where somebody has said so, of a
   * program, whose branches can be seen growing then, and of rules, to show where they held.
   */
  records(settings: Settings): boolean {
    const { trace, rules = [] } = settings;
    return trace || rules.some(({ on }) => on) || programsIn(settings, this.plugins.value).length > 0;
  }

  /** What is sent to the host for an answer to messages. A request has one program at most. */
  request(settings: Settings, messages: readonly Message[]): GenerateRequest {
    const offered = new Set(this.plugins.value.map((plugin) => plugin.name));
    for (const name of programsIn(settings, this.plugins.value).slice(0, -1)) offered.delete(name);
    const pictures = mediaOf(messages).some(isPicture);
    const abilities = this.abilitiesOf(this.answering(settings, pictures));
    const byDefault = this.plugins.value.filter(isDefault).map((plugin) => plugin.name);
    const asked = { ...settings, ...this.modelOf(settings, pictures) };
    const functions = this.servers.offered(settings).map(({ definition }) => definition);
    return requestFor(asked, offered, messages, abilities, byDefault, functions);
  }

  /** The way to MCP servers. Its code is loaded with the first that is needed. */
  readonly connections = once(async () => {
    const { ServerConnections } = await import("./tools/serverconnections.ts");
    return new ServerConnections((url, signedIn) => this.servers.keepSignIn(url, signedIn));
  });

  /** What answers the calls of tools. Its code is loaded with the first. */
  readonly toolCalls = once(async () => {
    const { ToolCalls } = await import("./tools/toolcalls.ts");
    return new ToolCalls(this.chats, this.servers, this.connections, this.tabs);
  });

  /** What asks models for titles. Its code is loaded after the first answer. */
  private readonly titles = once(async () => {
    const { Titles } = await import("./chats/titles.ts");
    return new Titles(this.chats, this.answers, ({ settings }, messages, model) => {
      const { system, templateArgs, tools, servers } = settings.peek(); // what prompts begin with
      const asked = {
        ...defaultSettings,
        system,
        ...(model !== "" && { model }),
        ...(templateArgs !== undefined && { templateArgs }),
        ...(tools !== undefined && { tools }),
        ...(servers !== undefined && { servers }),
      };
      return this.request(asked, messages);
    });
  });

  /**
   * Has the model name the chat of an answer, if a person wants that. The small demonstration
   * models cannot.
   */
  private suggestTitle(run: RunningAnswer): void {
    const model = run.message.peek().answer?.model;
    const { builtIn = false } = this.served.peek().find(({ name }) => name === model) ?? {};
    if (builtIn || !this.layout.preferences.titles.peek()) return;
    this.titles().then(
      (titles) => titles.suggest(run),
      () => {}, // the chat keeps the title that it has
    );
  }

  /** Asks the host what it has. */
  private async look(): Promise<void> {
    const [models, plugins] = await Promise.all([this.rest.models(), this.rest.plugins()]);
    this.served.value = models;
    this.plugins.value = plugins;
    this.rest.props().then(
      (props) => {
        this.props.value = props;
      },
      () => {}, // the page shows less of the defaults; and where several models are served, one may still have to be loaded
    );
  }
}
