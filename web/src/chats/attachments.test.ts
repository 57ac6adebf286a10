// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { DocumentProblem } from "../media/documentproblem.ts";
import { mostFileBytes } from "../media/medialimits.ts";
import { type AttachContext, attach, attachText } from "./attachments.ts";
import type { Medium } from "./message.ts";

const file = (name: string, content: string | Uint8Array, type = "") =>
  Object.assign(new Blob([content as BlobPart], { type }), { name });

const mostBytes = mostFileBytes();

const held = new Map<string, Blob>();
const taking: AttachContext = {
  model: "tiny",
  abilities: { sees: true, hears: true },
  sent: [],
  most: mostBytes,
  hold: (name, bytes) => held.set(name, bytes),
};

/** In the browser's place: what is read is as it was. */
const as = (facts: object) => async (bytes: Blob) => ({ bytes, ...facts });
const readers = {
  picture: as({ type: "image/png", width: 3, height: 2 }),
  sound: as({ type: "audio/wav", seconds: 1.5 }),
} as unknown as Parameters<typeof attach>[3];

const png = (rest: string | Uint8Array) =>
  new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, ...new TextEncoder().encode(String(rest))]);

const medium = (name: string, size: number, type = "image/png"): Medium => ({ name, file: name, type, size });

test("attach: texts of several encodings", async () => {
  const utf16 = new Uint8Array([0xff, 0xfe, 0x68, 0, 0x69, 0]);
  const { files, problems } = await attach([file("a.txt", "ä\r\nb"), file("b.txt", utf16)], [], taking);
  assert.deepEqual(files, [
    { name: "a.txt", text: "ä\nb" },
    { name: "b.txt", text: "hi" },
  ]);
  assert.deepEqual(problems, []);
});

for (const [name, content, want] of [
  [
    "cut.png",
    new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 0]),
    /cut.png.*no text, no PDF, no office file, no picture and no sound/,
  ],
  ["zeros", new Uint8Array(10), /no text, no PDF/],
  ["empty", "", /is empty/],
  ["large.log", "x".repeat((1 << 20) + 1), /it has 1 MB, and a text file can have 1 MB/],
] as const) {
  test(`attach: ${name} is refused in words`, async () => {
    const { files, problems } = await attach([file(name, content)], [], taking);
    assert.deepEqual(files, []);
    assert.match(problems.join(), want);
  });
}

test("attach: not the same file twice, and not more than all may have together", async () => {
  const one = { name: "a", text: "x" };
  assert.deepEqual(await attach([file("a", "x")], [one], taking), { files: [], problems: [] });
  const full = { name: "b", text: "x".repeat(4 << 20) };
  assert.match((await attach([file("c", "x")], [full], taking)).problems.join(), /4 MB together/);
});

test("attach: a folder, which the browser gives as a file that cannot be read", async () => {
  const no = { arrayBuffer: () => Promise.reject(new Error("no")) };
  const folder = { name: "src", size: 4096, type: "", slice: () => no, ...no };
  assert.match((await attach([folder], [], taking)).problems.join(), /folder/);
});

test("attach: a picture is known by its bytes, and held by their hash; an SVG is a text", async () => {
  const bytes = png("dots");
  const svg = "<svg xmlns='http://www.w3.org/2000/svg'/>";
  const picked = [
    file("photo.txt", bytes, "text/plain"),
    file("again.png", bytes),
    file("x.svg", svg, "image/svg+xml"),
  ];
  const { files, problems } = await attach(picked, [], taking, readers);
  const hash = createHash("sha256").update(bytes).digest("hex");
  const facts = { type: "image/png", width: 3, height: 2, size: bytes.length };
  assert.deepEqual(files, [
    { name: "photo.txt", file: hash, ...facts },
    { name: "x.svg", text: svg },
  ]);
  assert.deepEqual(problems, []);
  assert.deepEqual(new Uint8Array((await held.get(hash)?.arrayBuffer()) ?? []), bytes);
});

for (const [name, abilities, want] of [
  ["blind", { sees: false, hears: true }, /^photo.png was not added: tiny cannot see pictures/],
  ["deaf", { sees: true, hears: false }, /^song.ogg was not added: tiny cannot hear sounds/],
] as const) {
  test(`attach: a ${name} model says so before anything is read`, async () => {
    const picked = [file("photo.png", png("")), file("song.ogg", "OggS", "audio/ogg")];
    const { files, problems } = await attach(picked, [], { ...taking, abilities }, readers);
    assert.equal(files.length, 1);
    assert.match(problems.join(), want);
  });
}

test("attach: what the browser cannot read is said", async () => {
  const no = async () => assert.fail("damaged");
  const picked = [file("a.png", png("")), file("b", "x", "audio/x-strange")];
  const { problems } = await attach(picked, [], taking, { picture: no, sound: no, pdf: no, office: no });
  assert.deepEqual(problems, [
    "a.png was not added: the browser cannot read this picture.",
    "b was not added: the browser cannot read this sound.",
  ]);
});

test("attach: as many pictures and bytes as a connection keeps, those of the chat among them", async () => {
  const add = (sent: Medium[], present: Medium[] = []) =>
    attach([file("new.png", png(""))], present, { ...taking, sent }, readers);
  const many = Array.from({ length: 127 }, (_, at) => medium(`m${at}`, 10));
  assert.equal((await add(many)).files.length, 1);
  assert.match((await add(many, [medium("last", 1)])).problems.join(), /can have 128 pictures and sounds/);
  assert.match((await add([medium("large", mostBytes - 7)])).problems.join(), /can have 16 MB together/);
  const twice = [medium("large", mostBytes - 8), medium("large", mostBytes - 8)];
  assert.equal((await add(twice)).files.length, 1, "a picture that is there twice is sent once");
});

/** A PDF of three pages, as the browser's reader has it, and what became of it. */
function pdfReader(text: string, drawing = async (page: number) => new Blob([png(page.toString())])) {
  const seen = { closed: 0 };
  const pdf = async () => ({ pages: 3, text, draw: drawing, close: () => void seen.closed++ });
  return { seen, by: { ...readers, pdf } as NonNullable<typeof readers> };
}

const report = () => file("report.pdf", "%PDF-1.7 …");

test("attach: of a PDF its text is taken where nobody is asked, with the number of its pages", async () => {
  const { seen, by } = pdfReader("Words.");
  for (const abilities of [{ sees: false, hears: false }, taking.abilities]) {
    const { files } = await attach([report()], [], { ...taking, abilities }, by);
    assert.deepEqual(files, [{ name: "report.pdf", text: "Words.", parts: { unit: "page", count: 3 } }]);
  }
  assert.equal(seen.closed, 2);
});

test("attach: of a PDF a person takes pages as pictures, its text, or nothing", async () => {
  const { seen, by } = pdfReader("Words.");
  const add = (choice: { from: number; to: number } | "text" | undefined) =>
    attach([report()], [], { ...taking, choose: async () => choice }, by);
  assert.deepEqual(
    (await add({ from: 2, to: 3 })).files.map(({ name }) => name),
    ["report.pdf, page 2", "report.pdf, page 3"],
  );
  assert.equal((await add("text")).files.length, 1);
  assert.deepEqual(await add(undefined), { files: [], problems: [] });
  assert.equal(seen.closed, 3);
});

test("attach: a PDF without text says so, and pages that are too many are refused once", async () => {
  const { by } = pdfReader("");
  const blind = { ...taking, abilities: { sees: false, hears: true } };
  const { problems } = await attach([report()], [], blind, by);
  assert.match(problems.join(), /^report.pdf was not added: it has no text: .* tiny cannot see them/);
  const choose = async ({ text }: { text: string }) => (text === "" ? { from: 1, to: 3 } : undefined);
  const sent = Array.from({ length: 127 }, (_, at) => medium(`m${at}`, 10));
  const taken = await attach([report()], [], { ...taking, sent, choose }, by);
  assert.equal(taken.files.length, 1);
  assert.deepEqual(taken.problems, [
    "report.pdf, page 2 was not added: a chat can have 128 pictures and sounds.",
  ]);
});

test("attach: a PDF that is too large, or that the reader gives up, is refused in words, and closed", async () => {
  const large = Object.defineProperty(report(), "size", { value: (50 << 20) + 1 });
  assert.match((await attach([large], [], taking)).problems.join(), /a PDF can have 50 MB/);
  const { seen, by } = pdfReader("Words.", async () => {
    throw new DocumentProblem("it takes too long to read.");
  });
  const { problems } = await attach(
    [report()],
    [],
    { ...taking, choose: async () => ({ from: 1, to: 1 }) },
    by,
  );
  assert.deepEqual(problems, ["report.pdf was not added: it takes too long to read."]);
  assert.equal(seen.closed, 1);
});

test("attach: an office file becomes its text, or says why not", async () => {
  const add = (content: string | Uint8Array, office: () => Promise<{ text: string }>) =>
    attach([file("a.docx", content)], [], taking, { ...readers, office } as NonNullable<typeof readers>);
  const head = "PK\x03\x04…";
  assert.deepEqual((await add(head, async () => ({ text: "Words." }))).files, [
    { name: "a.docx", text: "Words." },
  ]);
  assert.deepEqual((await add(head, async () => ({ text: "" }))).problems, [
    "a.docx was not added: it has no text.",
  ]);
  const no = async () => assert.fail(new DocumentProblem("it is damaged."));
  assert.deepEqual((await add(head, no)).problems, ["a.docx was not added: it is damaged."]);
  const old = new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0, 0]);
  assert.match((await add(old, no)).problems.join(), /of an old kind. Save it as .docx/);
});

test("attachText: each has a name of its own, and not more than all may have together", () => {
  const first = attachText("one", []);
  assert.deepEqual(first, { name: "Pasted text.txt", text: "one" });
  assert.deepEqual(attachText("two", [{ name: "Pasted text.txt", text: "one" }]), {
    name: "Pasted text 2.txt",
    text: "two",
  });
  assert.match(String(attachText("x".repeat(4 << 20), [{ name: "a", text: "a" }])), /4 MB together/);
});
