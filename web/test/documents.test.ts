// SPDX-License-Identifier: MIT

// PDFs and office files from where a person has them to what is sent. The test answers in the
// host's place, and says what its model takes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { sampleZip } from "../src/chats/samplezip.ts";
import { findings } from "./axe.ts";
import { patience, useBrowser } from "./browser.ts";
import { chinese, lines, type PDFPage, pdf, redSquare, scanned } from "./pdfs.ts";
import { openPerceiving } from "./perceiving.ts";
import { useServer } from "./server.ts";
import { devices } from "./sizes.ts";
import { some } from "./steady.ts";

const options = { timeout: 3 * patience };

useBrowser();
const server = useServer();
const blind = { vision: false, audio: false };

const add = (page: Page, ...files: { name: string; buffer: Buffer }[]) =>
  page
    .getByLabel("Files", { exact: true })
    .setInputFiles(files.map((file) => ({ mimeType: "application/octet-stream", ...file })));

const asPDF = (pages: readonly PDFPage[], trailer?: string) => ({
  name: "report.pdf",
  buffer: pdf(pages, trailer),
});

test("Page: a PDF goes along as text, with its pages, and asks no other server", options, async () => {
  const { chat, asked } = await openPerceiving(server, blind);
  const { page } = chat;
  const strangers: string[] = [];
  page.context().on("request", (request) => {
    if (!request.url().startsWith(`${server.url}/`)) strangers.push(request.url());
  });
  await add(page, asPDF([{ draws: lines("The frog", "in the pond.") }, { draws: chinese("青蛙") }]));
  const chip = page.getByRole("button", { name: /report\.pdf/ }).first();
  await chip.getByText(/^2 pages · ≈ \d+ tokens$/).waitFor();
  await chip.click();
  await page.getByRole("dialog", { name: "report.pdf" }).getByText("in the pond.").waitFor();
  await page.keyboard.press("Escape");
  await chat.ask("What is it about?");
  await chat.finished();
  const text = "[page 1]\nThe frog\nin the pond.\n\n[page 2]\n青蛙";
  assert.deepEqual(asked, [[`report.pdf:\n\`\`\`\n${text}\n\`\`\`\n\nWhat is it about?`]]);
  while (page.workers().length > 0) await page.waitForTimeout(10); // it is ended
  await page.reload();
  await page
    .getByRole("region", { name: "Your message" })
    .getByText(/^2 pages/)
    .waitFor();
  assert.deepEqual([strangers, chat.complaints], [[], []]);
});

/** The size of a picture, and how much of it is red and black. */
async function colours(img: Locator): Promise<{ width: number; height: number; red: number; black: number }> {
  return img.evaluate(async (shown) => {
    await (shown as HTMLImageElement).decode();
    const bitmap = await createImageBitmap(shown as HTMLImageElement);
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    const { data } = context?.getImageData(0, 0, width, height) ?? { data: [] };
    let [red, black] = [0, 0];
    for (let at = 0; at < data.length; at += 4) {
      const [r = 0, g = 0] = [data[at], data[at + 1]];
      if (r > 200 && g < 60) red++;
      if (r < 60 && g < 60) black++;
    }
    return { width, height, red: red / (width * height), black: black / (width * height) };
  });
}

for (const [size, device] of some(devices, 1)) {
  test(`Page: pages of a PDF go along as pictures, for a model that sees (${size})`, options, async () => {
    const { chat, asked, files } = await openPerceiving(server, {}, device);
    const { page } = chat;
    const pages = [
      { draws: lines("Words.") },
      { draws: redSquare, size: [14_400, 14_400] } as PDFPage,
      scanned(),
    ];
    await add(page, asPDF(pages));
    const dialog = page.getByRole("dialog", { name: "report.pdf" });
    const { width = 0 } = (await dialog.getByLabel("Its text").boundingBox()) ?? {};
    assert.ok(width > 10 && width < 30, `a radio button is ${width} pixels wide`);
    assert.equal(await dialog.evaluate((box) => box.scrollWidth - box.clientWidth), 0, "it scrolls sideways");
    assert.deepEqual(await findings(page), []);
    await dialog.getByLabel("Pages as pictures").check();
    await dialog.getByLabel("From page").fill("9");
    await dialog.getByText("Choose pages from 1 to 3.").waitFor();
    assert.deepEqual(await findings(page), []);
    assert.equal(await dialog.getByRole("button", { name: "Add" }).isDisabled(), true);
    await dialog.getByLabel("From page").fill("1");
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByRole("img", { name: "report.pdf, page 3" }).waitFor();
    const [words, square, scan] = await Promise.all(
      [1, 2, 3].map((n) => colours(page.getByRole("img", { name: `report.pdf, page ${n}` }))),
    );
    assert.deepEqual([words?.width, words?.height], [1239, 1754]);
    assert.ok((words?.black ?? 0) > 0.0005, `letters are ${words?.black} of the page`);
    assert.ok((square?.width ?? 0) * (square?.height ?? 0) <= 3_200_000);
    assert.ok((square?.red ?? 0) > 0);
    assert.ok((scan?.black ?? 0) > 0.01, `the scan is ${scan?.black} of the page`);
    await chat.ask("What?");
    await chat.finished();
    assert.equal(files.size, 3);
    assert.equal(asked[0]?.[0]?.length, 4);
    assert.deepEqual(chat.complaints, []);
  });
}

test("Page: a PDF without text says so, and offers its pages to a model that sees", options, async () => {
  const { chat } = await openPerceiving(server);
  await add(chat.page, asPDF([{ draws: redSquare }]));
  const dialog = chat.page.getByRole("dialog", { name: "report.pdf" });
  await dialog.getByText("1 page. It has no text: its pages may be scanned.").waitFor();
  assert.equal(await dialog.getByLabel("Its text").isDisabled(), true);
  await chat.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await chat.ask("Hello!"); // nothing is being read any more
  await chat.finished();
  await chat.close();

  const other = await openPerceiving(server, blind);
  await add(other.chat.page, asPDF([{ draws: redSquare }]));
  await other.chat.page
    .getByRole("alert")
    .getByText(/^report\.pdf was not added: it has no text: its pages may be scanned\. \S+ cannot see them\./)
    .waitFor();
  assert.deepEqual([...chat.complaints, ...other.chat.complaints], []);
});

test(
  "Page: a PDF that is broken, locked, too long or too slow is refused, and its worker ended",
  options,
  async () => {
    const { chat } = await openPerceiving(server, blind);
    const { page } = chat;
    const key = "(01234567890123456789012345678901)";
    const locked = `/ID [${key} ${key}] /Encrypt << /Filter /Standard /V 1 /R 2 /O ${key} /U ${key} /P -4 >>`;
    const alert = page.getByRole("alert");
    for (const [file, want] of [
      [
        { name: "broken.pdf", buffer: Buffer.from(`%PDF-1.7\n${"<<".repeat(50_000)}`) },
        "it cannot be read: it may be damaged.",
      ],
      [asPDF([{ draws: lines("Secret") }], locked), "it is locked with a password."],
      [
        asPDF(Array.from({ length: 2001 }, () => ({ draws: "" }))),
        "it has 2,001 pages, and a PDF can have 2,000.",
      ],
    ] as const) {
      await add(page, file);
      await alert.getByText(`${file.name} was not added: ${want}`).waitFor();
    }
    await page.route(/\/pdf\.worker-/, (route) =>
      route.fulfill({ contentType: "text/javascript", body: "" }),
    );
    await page.clock.install();
    await add(page, asPDF([{ draws: "" }]));
    await page.getByText("Reading the files…").waitFor();
    while (page.workers().length === 0) await new Promise((next) => setTimeout(next, 10));
    await page.clock.fastForward(60_001);
    await alert.getByText("report.pdf was not added: it takes too long to read.").waitFor();
    while (page.workers().length > 0) await new Promise((next) => setTimeout(next, 10));
    assert.deepEqual(chat.complaints, []);
  },
);

const relations = (...targets: string[]) =>
  `<Relationships>${targets.map((target, i) => `<Relationship Id="r${i + 1}" Target="${target}"/>`).join("")}</Relationships>`;
const w = (tag: string, inner: string, attributes = "") => `<w:${tag} ${attributes}>${inner}</w:${tag}>`;
const wp = (text: string, properties = "") =>
  w("p", `${properties && w("pPr", properties)}${w("r", w("t", text))}`);
const r = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';

/** Office files by their names, and the text that is read of each. */
const offices: Record<string, { parts: Record<string, string>; text: string; size: RegExp }> = {
  "letter.docx": {
    parts: {
      "word/document.xml": `<w:document xmlns:w="w">${w(
        "body",
        wp("A frog &amp; a pond", '<w:pStyle w:val="Heading2"/>') +
          w(
            "p",
            `<w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>It</w:t><w:tab/><w:t>jumps.</w:t><w:footnoteReference w:id="2"/></w:r>`,
          ) +
          wp("one", "<w:numPr/>") +
          w("tbl", w("tr", w("tc", "<w:p/>") + w("tc", wp("b") + wp("c")))) +
          "<mc:Fallback xmlns:mc='mc'><w:p><w:r><w:t>twice</w:t></w:r></w:p></mc:Fallback>",
      )}</w:document>`,
      "word/footnotes.xml": `<w:footnotes xmlns:w="w">${w("footnote", wp("-"), 'w:id="0" w:type="separator"')}${w("footnote", wp("Far."), 'w:id="2"')}</w:footnotes>`,
    },
    text: "## A frog & a pond\nIt\tjumps.[^2]\n- one\n | b c\n[^2]: Far.",
    size: /^\d+ B$/,
  },
  "table.xlsx": {
    parts: {
      "xl/workbook.xml": `<workbook ${r}><sheets><sheet name="Second" r:id="r2" sheetId="1"/><sheet name="First" r:id="r1" sheetId="2"/><sheet name="Again" r:id="r1" sheetId="3"/></sheets></workbook>`,
      "xl/_rels/workbook.xml.rels": relations("worksheets/sheet1.xml", "/xl/worksheets/sheet2.xml"),
      "xl/sharedStrings.xml":
        "<sst><si><t>Frogs</t></si><si><r><t>To</t></r><r><t>ads</t></r><rPh><t>x</t></rPh></si></sst>",
      "xl/styles.xml":
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>',
      "xl/worksheets/sheet1.xml":
        '<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row/><row><c r="B3" s="1"><v>45292</v></c><c r="C3" s="2"><v>45292.5</v></c><c r="D3"><v>1.5</v></c></row></sheetData></worksheet>',
      "xl/worksheets/sheet2.xml":
        '<worksheet><sheetData><row><c t="inlineStr"><is><t>in a cell</t></is></c><c t="b"><v>1</v></c></row></sheetData></worksheet>',
    },
    text: "## Second\nin a cell\tTRUE\n\n## First\nFrogs\t\tToads\n\t2024-01-01\t2024-01-01 12:00:00\t1.5",
    size: /^3 sheets · ≈ \d+ tokens$/,
  },
  "talk.pptx": {
    parts: {
      "ppt/presentation.xml": `<p:presentation xmlns:p="p" ${r}><p:sldIdLst><p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/></p:sldIdLst></p:presentation>`,
      "ppt/_rels/presentation.xml.rels": relations("slides/slide1.xml", "slides/slide2.xml"),
      "ppt/slides/slide1.xml":
        '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>The end</a:t></a:r></a:p></p:sld>',
      "ppt/slides/slide2.xml":
        '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>The </a:t></a:r><a:r><a:t>begin</a:t></a:r></a:p></p:sld>',
    },
    text: "[slide 1]\nThe begin\n\n[slide 2]\nThe end",
    size: /^2 slides · ≈ \d+ tokens$/,
  },
  "text.odt": {
    parts: {
      mimetype: "application/vnd.oasis.opendocument.text",
      "content.xml": `<o:document-content xmlns:o="o" xmlns:t="t" xmlns:b="b"><o:body>
        <t:tracked-changes><t:p>gone</t:p></t:tracked-changes>
        <t:h t:outline-level="2">A <t:span>frog</t:span></t:h>
        <t:p>It<t:tab/>jumps<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>far</t:p></t:note-body></t:note>.</t:p>
        <t:list><t:list-item><t:p>one</t:p></t:list-item></t:list>
        <b:table><b:table-row><b:table-cell><t:p>a</t:p></b:table-cell><b:table-cell><t:p>b</t:p><t:p>c</t:p></b:table-cell></b:table-row></b:table>
      </o:body></o:document-content>`,
    },
    text: "## A frog\nIt\tjumps (far).\n- one\na | b c",
    size: /^\d+ B$/,
  },
  "table.ods": {
    parts: {
      "content.xml": `<o:document-content xmlns:o="o" xmlns:t="t" xmlns:b="b"><o:body><o:spreadsheet>
        <b:table b:name="Ponds"><b:table-column b:number-columns-repeated="9"/>
          <b:table-header-rows><b:table-row><b:table-cell><t:p>Frogs</t:p></b:table-cell><b:covered-table-cell><t:p>x</t:p></b:covered-table-cell><b:table-cell b:number-columns-repeated="2"><o:annotation><t:p>y</t:p></o:annotation><t:p>two <t:span>words</t:span></t:p></b:table-cell></b:table-row></b:table-header-rows>
          <b:table-row b:number-rows-repeated="1048576"><b:table-cell b:number-columns-repeated="16384"/></b:table-row>
          <b:table-row b:number-rows-repeated="1000000000000"><b:table-cell b:number-columns-repeated="16384"/><b:table-cell><t:p>beyond</t:p></b:table-cell></b:table-row>
          <b:table-row-group><b:table-row b:number-rows-repeated="2"><b:table-cell b:number-columns-repeated="2"/><b:table-cell o:value-type="date" o:date-value="2024-01-01T12:00:00"><t:p>1.1.</t:p></b:table-cell></b:table-row></b:table-row-group>
        </b:table><b:table b:name="Empty"/></o:spreadsheet></o:body></o:document-content>`,
    },
    text: "## Ponds\nFrogs\t\ttwo words\ttwo words\n\t\t2024-01-01 12:00:00\n\t\t2024-01-01 12:00:00\n\n## Empty",
    size: /^2 sheets · ≈ \d+ tokens$/,
  },
  "talk.odp": {
    parts: {
      "content.xml": `<o:document-content xmlns:o="o" xmlns:t="t" xmlns:d="d" xmlns:p="p"><o:body><o:presentation>
        <d:page><d:frame><d:text-box><t:p>The begin</t:p></d:text-box></d:frame><p:notes><d:frame><t:p>said</t:p></d:frame></p:notes></d:page>
        <d:page><d:frame><d:text-box><t:list><t:list-item><t:p>The end</t:p></t:list-item></t:list></d:text-box></d:frame></d:page>
      </o:presentation></o:body></o:document-content>`,
    },
    text: "[slide 1]\nThe begin\n\n[slide 2]\n- The end",
    size: /^2 slides · ≈ \d+ tokens$/,
  },
};

const zipped = async (name: string, parts: Record<string, string>) => ({
  name,
  buffer: Buffer.from(await sampleZip(parts).arrayBuffer()),
});

test("Page: office files go along as text", options, async () => {
  const { chat, asked } = await openPerceiving(server, blind);
  const { page } = chat;
  await add(
    page,
    ...(await Promise.all(Object.entries(offices).map(([name, { parts }]) => zipped(name, parts)))),
  );
  for (const [name, { size }] of Object.entries(offices))
    await page.getByRole("listitem").filter({ hasText: name }).getByText(size).waitFor();
  await chat.ask("What?");
  await chat.finished();
  const want = Object.entries(offices).map(([name, { text }]) => `${name}:\n\`\`\`\n${text}\n\`\`\`\n`);
  assert.deepEqual(asked, [[[...want, "What?"].join("\n")]]);
  assert.deepEqual(chat.complaints, []);
});

test("Page: an office file that would harm the page, or is none, is refused in words", options, async () => {
  const { chat } = await openPerceiving(server, blind);
  const { page } = chat;
  const document = "word/document.xml";
  const entities = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]><w>&b;</w>';
  const many = (what: string) => `number-${what}-repeated="1000000000"`;
  const deep = `<w>${"<p>".repeat(100_000)}${"</p>".repeat(100_000)}</w>`;
  for (const [parts, want] of [
    [
      { [document]: `<w><t>${" ".repeat(40 << 20)}</t></w>` },
      `it cannot be read: ${document} is too large when it is unpacked.`,
    ],
    [{ [document]: entities }, "it cannot be read: it may be damaged."],
    [{ [document]: "<w><p>" }, "it cannot be read: it may be damaged."],
    [{ [document]: deep }, /it cannot be read: it may be damaged\.|it has no text\./], // as deep as the browser reads
    [
      {
        "content.xml": `<document-content><spreadsheet><table><table-row ${many("rows")}><table-cell ${many("columns")}><p>x</p></table-cell></table-row></table></spreadsheet></document-content>`,
      },
      "it has more text than the files of a message can have together.",
    ],
    [{ "photo.txt": "x" }, "it is an archive, and no office file."],
  ] as const) {
    await add(page, await zipped("bad.docx", parts));
    await page
      .getByRole("alert")
      .getByText(typeof want === "string" ? `bad.docx was not added: ${want}` : want)
      .waitFor();
    await page.reload(); // which takes the sentence away
    await chat.online();
  }
  // Chromium styles what it says of XML that is broken, and may not.
  assert.deepEqual(
    chat.complaints.filter((complaint) => !complaint.startsWith("Applying inline style")),
    [],
  );
});
