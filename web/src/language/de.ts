// SPDX-License-Identifier: MIT

// The texts of the page in German, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  // chats
  // host
  // live
  // media
  "cannot see pictures": "kann keine Bilder sehen",
  "cannot see pictures and hear sounds": "kann weder Bilder sehen noch Töne hören",
  "cannot hear sounds": "kann keine Töne hören",
  "{model} {cannot}. Remove what it cannot take, or choose another model in Settings.":
    "{model} {cannot}. Bitte diese Dateien entfernen oder in den Einstellungen ein anderes Modell wählen.",
  "This chat has more pictures and sounds than the server takes. Begin a new chat.":
    "Dieser Chat hat mehr Bilder und Töne, als der Server annimmt. Bitte einen neuen Chat beginnen.",
  "{model} {cannot}: of those in this chat it is told the names only.":
    "{model} {cannot}: Von denen in diesem Chat erfährt es nur die Namen.",
  "it has more text than the files of a message can have together.":
    "sie hat mehr Text, als die Dateien einer Nachricht zusammen haben können.",
  "it cannot be read: it may be damaged.": "sie kann nicht gelesen werden und ist vielleicht beschädigt.",
  "it cannot be read: {error}.": "sie kann nicht gelesen werden: {error}.",
  "it is an archive, and no office file. Unpack it, and add what is in it.":
    "sie ist ein Archiv und keine Office-Datei. Bitte entpacken und den Inhalt hinzufügen.",
  "it takes too long to read.": "das Lesen dauert zu lange.",
  "the code that reads PDFs stopped, or could not be loaded. If the server was updated meanwhile, reload the page.":
    "der Code, der PDFs liest, brach ab oder konnte nicht geladen werden. Falls der Server inzwischen aktualisiert wurde, bitte die Seite neu laden.",
  "it is locked with a password. Save it without one, and add that.":
    "sie ist mit einem Passwort gesperrt. Bitte ohne Passwort speichern und dann hinzufügen.",
  "it has {n} pages, and a PDF can have {most}.": "sie hat {n} Seiten; ein PDF kann {most} haben.",
  // plugins
  // rules
  // scripts
  // settings
  // text
  // tools
  "it wants more than {n} requests": "er verlangt mehr als {n} Anfragen",
  "it sends more than {mb} MB": "er sendet mehr als {mb} MB",
  "It is no JSON: {error}.": "Das ist kein JSON: {error}.",
  "There is no function in it.": "Darin ist keine Funktion.",
  "A chat can have {n} functions.": "Ein Chat kann {n} Funktionen haben.",
  '{path}name must be 1 to 64 letters, digits, "_" and "-".':
    "{path}name muss aus 1 bis 64 Buchstaben, Ziffern, „_“ und „-“ bestehen.",
  "{path}description must be a text.": "{path}description muss ein Text sein.",
  "{path}parameters must be a JSON schema of an object.":
    "{path}parameters muss ein JSON-Schema eines Objekts sein.",
  "it wants another token, or one at all": "er verlangt ein anderes Zugangstoken oder überhaupt eines",
  "there is no MCP server for Streamable HTTP at this address":
    "unter dieser Adresse ist kein MCP-Server mit Streamable HTTP",
  "it does not answer this page: it is not running, or does not allow pages of {origin} (CORS)":
    "er antwortet dieser Seite nicht: Er läuft nicht oder lässt Seiten von {origin} nicht zu (CORS)",
  "the code that talks to MCP servers could not be loaded. If Penstock was updated meanwhile, reload the page":
    "der Code für MCP-Server konnte nicht geladen werden. Falls Penstock inzwischen aktualisiert wurde, bitte die Seite neu laden",
  "it was stopped": "es wurde abgebrochen",
  "the arguments are no JSON object": "die Argumente sind kein JSON-Objekt",
  "it wants you to sign in: do so under Tools in the settings":
    "er verlangt eine Anmeldung; sie ist unter „Werkzeuge“ in den Einstellungen möglich",
  "the sign-in was declined": "die Anmeldung wurde abgelehnt",
  "the sign-in failed: {reason}": "die Anmeldung schlug fehl: {reason}",
  "the token that it gives cannot be used": "sein Zugangstoken ist nicht verwendbar",
  "its sign-in sends more than {kb} KB": "seine Anmeldung sendet mehr als {kb} KB",
  "it wants a token, and signing in for one needs https, which {place} has not":
    "er verlangt ein Zugangstoken, und die Anmeldung dafür braucht https, das {place} nicht hat",
  "the sign-in is too old: begin it once more": "die Anmeldung ist zu alt; bitte noch einmal beginnen",
  "the sign-in came back from another server": "die Anmeldung kam von einem anderen Server zurück",
  "the page cannot register itself there. Register it with the redirect address {url}":
    "die Seite kann sich dort nicht selbst registrieren. Bitte mit der Redirect-Adresse {url} registrieren",
  // trace
  // view
  // view/chat
  // view/files
  // view/finder
  // view/form
  // view/inspector
  Candidates: "Kandidaten",
  "The candidates that the model and each stage left, with their probabilities":
    "Die Kandidaten, die das Modell und jede Stufe übrig ließen, mit ihren Wahrscheinlichkeiten",
  Candidate: "Kandidat",
  "Show stages that changed nothing": "Stufen zeigen, die nichts geändert haben",
  "{n} left": "{n} übrig",
  "{percent} of the time": "{percent} der Zeit",
  "(chosen)": "(gewählt)",
  "cut before": "vorher gestrichen",
  "not drawn": "nicht gezogen",
  "candidate|cut": "gestrichen",
  "further behind": "weiter hinten",
  "up to {rank}": "hoch auf Platz {rank}",
  "down to {rank}": "hinunter auf Platz {rank}",
  Compare: "Vergleichen",
  "Compare with": "Vergleichen mit",
  nothing: "nichts",
  "version {n} of this answer": "Version {n} dieser Antwort",
  "Write another,": "Eine andere schreiben,",
  "Write another, same seed,": "Eine andere schreiben, mit demselben Seed,",
  "Write and compare": "Schreiben und vergleichen",
  "That answer has no token record, so there is nothing to compare.":
    "Jene Antwort hat kein Token-Protokoll; deshalb gibt es nichts zu vergleichen.",
  "Version {n}": "Version {n}",
  "Tokens of version {n}": "Token von Version {n}",
  "The token in focus of version {n}": "Das Token im Fokus von Version {n}",
  "All {n} tokens are the same.": "Alle {n} Token sind gleich.",
  "the end": "das Ende",
  "They part at token {n}: {one} on one side, {other} on the other.":
    "Sie trennen sich bei Token {n}: {one} auf der einen Seite, {other} auf der anderen.",
  "Side by side": "Nebeneinander",
  Speed: "Geschwindigkeit",
  "{rate} tokens/s": "{rate} Token/s",
  unknown: "unbekannt",
  Seed: "Seed",
  "Branches so far": "Bisherige Zweige",
  "Previous change": "Vorige Änderung",
  "Next change": "Nächste Änderung",
  "Press {inspect} below an answer to see how each of its tokens was chosen.":
    "{inspect} unter einer Antwort zeigt, wie jedes ihrer Token gewählt wurde.",
  Inspect: "Untersuchen",
  "Looking for the token record…": "Token-Protokoll wird gesucht…",
  "Tokens of the answer": "Token der Antwort",
  Probability: "Wahrscheinlichkeit",
  Stage: "Stufe",
  Plugin: "Plugin",
  "How likely the model found each token.": "Wie wahrscheinlich das Modell jedes Token fand.",
  "The stage that decided against the model’s first choice. Plain tokens are that first choice.":
    "Die Stufe, die gegen die erste Wahl des Modells entschied. Token ohne Farbe sind diese erste Wahl.",
  "Who chose, changed or took back tokens. In plain ones no plugin had a hand.":
    "Wer Token wählte, änderte oder zurücknahm. An Token ohne Farbe war kein Plugin beteiligt.",
  "Colour by": "Farbe nach",
  Legend: "Legende",
  alive: "lebt",
  "kept to the end": "bis zum Ende behalten",
  "the answer": "die Antwort",
  dropped: "verworfen",
  "Show dropped branches": "Verworfene Zweige zeigen",
  "A program writes this answer.": "Ein Programm schreibt diese Antwort.",
  "A program wrote this answer.": "Ein Programm hat diese Antwort geschrieben.",
  "It has opened {n} branches with {tokens} in all.": [
    "Es hat {n} Zweig mit insgesamt {tokens} geöffnet.",
    "Es hat {n} Zweige mit insgesamt {tokens} geöffnet.",
  ],
  "{n} branches still live.": ["{n} Zweig lebt noch.", "{n} Zweige leben noch."],
  "The answer’s score is {score}.": "Die Wertung der Antwort ist {score}.",
  "The score is the sum of the log-probabilities of all tokens from the prompt on: the nearer to 0, the likelier the model finds that text.":
    "Die Wertung ist die Summe der logarithmierten Wahrscheinlichkeiten aller Token nach dem Prompt: Je näher sie an 0 ist, desto wahrscheinlicher findet das Modell den Text.",
  Branches: "Zweige",
  "Show {n} rows before these": "{n} Zeilen davor zeigen",
  "{standing}, score": "{standing}, Wertung",
  "{percent} for a typical token": "{percent} für ein typisches Token",
  "The branch in focus": "Der Zweig im Fokus",
  "Branch {name}": "Zweig {name}",
  "score {score}": "Wertung {score}",
  "and {tokens} more": "und {tokens} mehr",
  "choice {numbers}": "Auswahl {numbers}",
  "The answer in numbers": "Die Antwort in Zahlen",
  "Token records stay in this browser: those of the first {first} tokens of an answer, and of the newest answers up to {all} tokens. They go with their chat.":
    "Token-Protokolle bleiben in diesem Browser: die der ersten {first} Token einer Antwort und die der neuesten Antworten mit bis zu {all} Token. Sie verschwinden mit ihrem Chat.",
  Tokens: "Token",
  "{n}, {traced} with a record": "{n}, davon {traced} mit Protokoll",
  "Probability of a typical token": "Wahrscheinlichkeit eines typischen Tokens",
  "Tokens that a plugin or you changed": "Token, die ein Plugin oder Sie geändert haben",
  "Tokens taken back": "Zurückgenommene Token",
  "Choosing a token takes": "Die Wahl eines Tokens dauert",
  Stages: "Stufen",
  "Time for a token, on average": "Zeit für ein Token im Durchschnitt",
  Share: "Anteil",
  Time: "Zeit",
  "The token in focus": "Das Token im Fokus",
  "token {n} of {all}": "Token {n} von {all}",
  "taken back before token {n} of {all}": "zurückgenommen vor Token {n} von {all}",
  "Previous token": "Voriges Token",
  "Next token": "Nächstes Token",
  "{label} (arrow keys in the text)": "{label} (Pfeiltasten im Text)",
  "Choosing it took {time}, after the model’s pass.":
    "Die Wahl dauerte {time}, nach dem Durchlauf des Modells.",
  others: "andere",
  "{word}, taken back by {who}": "{word}, zurückgenommen von {who}",
  "This answer has no token record.": "Diese Antwort hat kein Token-Protokoll.",
  "A token record tells of each token what the model found likely, what every stage and plugin made of it, what was taken back, and how long all that took. It costs a little speed and about 5 KB a token, so it is off until you want it.":
    "Ein Token-Protokoll zeigt zu jedem Token, was das Modell für wahrscheinlich hielt, was jede Stufe und jedes Plugin daraus machte, was zurückgenommen wurde und wie lange das alles dauerte. Es kostet etwas Geschwindigkeit und etwa 5 KB je Token; deshalb ist es aus, bis Sie es wollen.",
  "Answer again with a token record": "Noch einmal mit Token-Protokoll antworten",
  "With the same seed the answer stays the same.": "Mit demselben Seed bleibt die Antwort gleich.",
  "From then on this chat keeps token records; you can switch that off in Settings.":
    "Von da an führt dieser Chat Token-Protokolle; das lässt sich in den Einstellungen ausschalten.",
  // view/live
  // view/models
  // view/palette
  // view/plugins
  // view/roads
  // view/script
  // view/settings
  // view/shortcuts
  // view/sidebar
  "As the browser": "Wie der Browser",
  Language: "Sprache",
  // view/steering
  // view/strategy
  // view/tools
  "{server} works on it, as another tab has asked…":
    "{server} arbeitet daran, wie ein anderer Tab es verlangt hat…",
  "The server": "Der Server",
  "{server} works on it…": "{server} arbeitet daran…",
  "Stop {name}": "{name} stoppen",
  "Answer to {name}": "Antwort auf {name}",
  "Your answer": "Ihre Antwort",
  "Error of {server}": "Fehler von {server}",
  "Answer of {server}": "Antwort von {server}",
  "(nothing)": "(nichts)",
  "{server} was interrupted: it may have done what was asked.":
    "{server} wurde unterbrochen und hat vielleicht getan, was verlangt war.",
  "May {server} ({host}) run {tool} with these arguments?":
    "Darf {server} ({host}) {tool} mit diesen Argumenten ausführen?",
  "Allow once": "Einmal erlauben",
  "Always allow": "Immer erlauben",
  "Answer it yourself": "Selbst antworten",
  Decline: "Ablehnen",
  "What {name} answers": "Was {name} antwortet",
  "Send answer": "Antwort senden",
  "Go on with this": "Damit fortfahren",
  'The name must be 1 to 64 letters, digits, "_" and "-".':
    "Der Name muss aus 1 bis 64 Buchstaben, Ziffern, „_“ und „-“ bestehen.",
  "It has more than the form can show.": "Darin ist mehr, als das Formular zeigen kann.",
  "New function": "Neue Funktion",
  "Function {name}": "Funktion {name}",
  Name: "Name",
  "What it does": "Was sie tut",
  "The function as JSON": "Die Funktion als JSON",
  Save: "Speichern",
  "Edit as JSON": "Als JSON bearbeiten",
  "Edit as a form": "Als Formular bearbeiten",
  Cancel: "Abbrechen",
  Parameters: "Parameter",
  "placeholder|name": "Name",
  "Name of parameter {n}": "Name von Parameter {n}",
  "Type of parameter {n}": "Typ von Parameter {n}",
  required: "erforderlich",
  "Remove parameter {n}": "Parameter {n} entfernen",
  "what it means": "was er bedeutet",
  "Meaning of parameter {n}": "Bedeutung von Parameter {n}",
  "Add a parameter": "Parameter hinzufügen",
  "Connecting…": "Verbinden…",
  "It has neither resources nor prompts.": "Er hat weder Ressourcen noch Prompts.",
  "Reading…": "Wird gelesen…",
  "{name} is added to the message.": "{name} ist der Nachricht hinzugefügt.",
  "{name} is in the message field.": "{name} steht im Nachrichtenfeld.",
  "Show resources and prompts": "Ressourcen und Prompts zeigen",
  Refresh: "Aktualisieren",
  "Stop asking {server}": "Anfrage an {server} abbrechen",
  Prompts: "Prompts",
  Resources: "Ressourcen",
  "Add {name}": "{name} hinzufügen",
  Add: "Hinzufügen",
  "Use {name}": "{name} verwenden",
  Use: "Verwenden",
  "{parameter} of {prompt}": "{parameter} von {prompt}",
  "{parameter} (optional)": "{parameter} (optional)",
  "{server} wants you to sign in:": "{server} verlangt eine Anmeldung:",
  "Sign in at {host}": "Bei {host} anmelden",
  "The chat template of this model knows no tools: it is not told of them.":
    "Die Chat-Vorlage dieses Modells kennt keine Werkzeuge: Es erfährt nichts von ihnen.",
  "MCP servers": "MCP-Server",
  "Their tools answer what the model calls. You are asked before each runs.":
    "Ihre Werkzeuge beantworten die Aufrufe des Modells. Sie werden gefragt, bevor eines läuft.",
  "{n} tools": ["{n} Werkzeug", "{n} Werkzeuge"],
  "Its tools": "Seine Werkzeuge",
  "Remove {name}": "{name} entfernen",
  "Sign out of {server}": "Von {server} abmelden",
  "It runs without a question.": "Es läuft ohne Rückfrage.",
  "Ask before {name} runs": "Fragen, bevor {name} läuft",
  "The address must begin with http:// or https://.": "Die Adresse muss mit http:// oder https:// beginnen.",
  "this browser keeps {n} servers: remove one first":
    "dieser Browser behält {n} Server; bitte zuerst einen entfernen",
  "The server was not added: {problem}.": "Der Server wurde nicht hinzugefügt: {problem}.",
  Address: "Adresse",
  "Token, if it wants one": "Zugangstoken, falls nötig",
  "Client ID": "Client-ID",
  "Add server": "Server hinzufügen",
  "Stop connecting": "Verbindung abbrechen",
  Functions: "Funktionen",
  "You answer what the model calls, below its answer.":
    "Sie antworten auf Aufrufe des Modells, unter seiner Antwort.",
  "Edit {name}": "{name} bearbeiten",
  "Add a function": "Funktion hinzufügen",
};
