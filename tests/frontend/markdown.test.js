import assert from "node:assert/strict";
import { test } from "node:test";

import { growingMarkdown, parseMarkdown, plainText } from "../../frontend/js/markdown.js";
import { safeHref } from "../../frontend/js/markdown_inline.js";
import { pluck, seeded } from "./support.js";

function outline(node) {
  if (Array.isArray(node)) return node.map(outline).join("");
  switch (node.type) {
    case "text":
      return node.text;
    case "break":
      return "⏎";
    case "math":
      return `[${node.isDisplay ? "formula" : "math"}|${node.tex}]`;
    case "code":
      return node.lines
        ? `[code:${node.language}|${node.lines.map(({ text }) => text).join("⏎")}]`
        : `[code|${node.text}]`;
    case "link":
      return `[link:${node.href}|${outline(node.inline)}]`;
    case "list":
      return `[list:${node.start ?? "-"}|${node.items.map(({ isDone, blocks }) => `${isDone === null ? "" : isDone ? "☑" : "☐"}${outline(blocks)}`).join(";")}]`;
    case "quote":
      return `[quote|${outline(node.blocks)}]`;
    case "rule":
      return "[rule]";
    case "table":
      return `[table:${node.align.map((side) => side?.[0] ?? "-").join("")}|${[node.head, ...node.rows]
        .map((row) => row.map(outline).join(","))
        .join(";")}]`;
    case "paragraph":
      return `(${outline(node.inline)})`;
    case "heading":
      return `[heading${node.level}|${outline(node.inline)}]`;
    default:
      return `[${node.type}|${outline(node.inline)}]`;
  }
}

const CASES = [
  ["so $a_1 + b_1$ and \\(x*y*z\\).", "(so [math|a_1 + b_1] and [math|x*y*z].)"],
  ["It is $$\\frac{1}{2}$$ here, \\[ x^2 \\] there", "(It is [formula|\\frac{1}{2}] here, [formula|x^2] there)"],
  ["It is\n\\[\na\n- b\n| c\n\\]\nso", "(It is)([formula|a\n- b\n| c])(so)"],
  ["$$\nx\n$$\n\nafter", "([formula|x])(after)"],
  ["$$\nx\n- y\n\n- z", "($$⏎x⏎- y)[list:-|(z)]"],
  ["from $5 to $10, or $5–$10; $ 5$ \\$x$ `$x$`", "(from $5 to $10, or $5–$10; $ 5$ $x$ [code|$x$])"],
  ["It costs $5, and he paid (US$).", "(It costs $5, and he paid (US$).)"],
  ["\\[1\\] and \\(open", "([1] and (open)"],
  ["**so $x$**", "([strong|so [math|x]])"],
  ["| a | **b** |\n|---|--:|\n| 1 | 2 |\n\nafter", "[table:-r|a,[strong|b];1,2](after)"],
  ["a | b\n:-- | :-:\n1\n1 | 2 | 3", "[table:lc|a,b;1,;1,2]"],
  ["Here:\n| a |\n|---|\n| x\\|y |\n- z", "(Here:)[table:-|a;x|y][list:-|(z)]"],
  ["| a | b |\n|---|\n| 1 | 2 |", "(| a | b |⏎|---|⏎| 1 | 2 |)"],
  ["| a | b |", "(| a | b |)"],
  ["one\ntwo\n\nthree", "(one⏎two)(three)"],
  [
    "**bold** and *soft* and ~~gone~~ and ***both***",
    "([strong|bold] and [emphasis|soft] and [strike|gone] and [strong|[emphasis|both]])",
  ],
  ["__bold__ but snake_case_name and 2 * 3 * 4", "([strong|bold] but snake_case_name and 2 * 3 * 4)"],
  ["a **bold *inside* it** b", "(a [strong|bold [emphasis|inside] it] b)"],
  ["`a * b` and ``c ` d``", "([code|a * b] and [code|c ` d])"],
  ["not closed: **a and `b", "(not closed: **a and `b)"],
  ["\\*kept\\* 1\\. x", "(*kept* 1. x)"],
  ["- a\n- b\n  - c\n- d", "[list:-|(a);(b)[list:-|(c)];(d)]"],
  ["3. a\n4) b", "[list:3|(a);(b)]"],
  ["- a\n\n  second\n\nafter", "[list:-|(a)(second)](after)"],
  ["```py\nx = 1\n\n**no**\n```\nafter", "[code:py|x = 1⏎⏎**no**](after)"],
  ["```\nnot closed yet", "[code:|not closed yet]"],
  ["~~~\n```\n~~~", "[code:|```]"],
  ["> a\n> b\n\nc", "[quote|(a⏎b)](c)"],
  ["# Title\ntext\n---", "[heading1|Title](text)[rule]"],
  [
    "### A\n##### B\n#### C\n### D\n# E\n> ## F\n\n## G",
    "[heading1|A][heading2|B][heading2|C][heading1|D][heading1|E][quote|[heading1|F]][heading2|G]",
  ],
  ["- [ ] a\n- [x] **b**\n  - [X] c\n- [y] d\n- []", "[list:-|☐(a);☑([strong|b])[list:-|☑(c)];([y] d);([])]"],
  ["[a](https://x.org/b) https://y.org/c.", "([link:https://x.org/b|a] [link:https://y.org/c|https://y.org/c].)"],
  [
    "[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil) [d](/local)",
    "([a](javascript:alert(1)) [b](data:text/html,x) [c](//evil) [d](/local))",
  ],
  ["<script>alert(1)</script> <img src=x onerror=y>", "(<script>alert(1)</script> <img src=x onerror=y>)"],
  ["&lt;b&gt; &amp;", "(&lt;b&gt; &amp;)"],
  ["line\r\nend\r", "(line⏎end)"],
];

for (const [source, wanted] of CASES) {
  test(`markdown: ${JSON.stringify(source)}`, () => {
    assert.equal(outline(parseMarkdown(source)), wanted);
  });
}

test("only http and https may be followed", () => {
  for (const bad of [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "JaVaScRiPt:x",
    "java\nscript:x",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://x/y",
    "//x",
    "x",
    "",
  ]) {
    assert.equal(safeHref(bad), null, bad);
  }
  assert.equal(safeHref("HTTPS://Example.org/ü"), "https://example.org/%C3%BC");
});

test("every piece of text knows its place in the source", () => {
  const source =
    "# A *b*\n\n> - c **d\n>   e**\n> \n> f\n\n```\ng\n  h\n```\n1. `i` [j](https://k.l)\n\n| m |  n\n|-|-\n|o| *p* |";
  const pieces = [];
  const walk = (node) => {
    if (Array.isArray(node)) node.forEach(walk);
    else if (typeof node?.text === "string") pieces.push(node);
    else for (const value of Object.values(node ?? {})) if (typeof value === "object") walk(value);
  };

  walk(parseMarkdown(source));

  assert.ok(pieces.length >= 9);
  for (const { text, at } of pieces) assert.equal(source.slice(at, at + text.length), text);
});

test("what is read out has no marks in it", () => {
  assert.equal(plainText("# A\n\n- **b** `c`\n- [d](https://e.f)\n\n---"), "A b c d");
  assert.equal(plainText("| a | b |\n|---|---|\n| 1 | `2` |"), "a, b; 1, 2");
});

test("hostile text takes no time: brackets, stars, backticks, quotes, lists", { timeout: 20_000 }, () => {
  const hostile = [
    "$x ".repeat(20_000),
    "$ ".repeat(20_000) + "x$",
    "$$ \\[ \\( ".repeat(10_000),
    "$$\n".repeat(10_000),
    "$$x\n\n".repeat(10_000),
    "[".repeat(100_000) + "a](https://x.y)",
    "*a ".repeat(50_000),
    "**a*".repeat(30_000),
    " ` `` ``` ".repeat(20_000),
    "> ".repeat(50_000),
    "- ".repeat(50_000) + "x",
    "https://" + "!".repeat(100_000) + "x",
    "1. a\n".repeat(20_000),
    "- a\n  ".repeat(20_000),
    "_a_".repeat(50_000),
    "[a](".repeat(50_000),
    "\\".repeat(100_000),
    "|a".repeat(50_000) + "\n" + "|-".repeat(50_000) + "|x",
    "|a\n|-\n".repeat(20_000),
    "|a|\n".repeat(20_000),
  ];

  for (const text of hostile) parseMarkdown(text);
});

test("any text at all gives text back, whole", () => {
  const random = seeded(7);
  const bits = [
    "*",
    "**",
    "_",
    "`",
    "```",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "> ",
    "# ",
    "[",
    "](",
    ")",
    "https://a.b",
    "<b>",
    "&",
    "\\",
    "~~",
    "word ",
    "é",
    "今",
    "  ",
    "---",
    "\r\n",
    "\u0000",
    "😀",
  ];
  for (let round = 0; round < 2_000; round += 1) {
    const source = Array.from({ length: 1 + random() * 30 }, () => bits[Math.floor(random() * bits.length)]).join("");

    const words = plainText(source).match(/word/g)?.length ?? 0;

    const isInAddress = /https:\/\/a\.b\S*word/.test(source) || source.includes("](");
    // The word after an opening fence names its language.
    const isLanguage = /(```|~~~~)[^\n]*word/.test(source);
    if (!isInAddress && !isLanguage) assert.equal(words, source.match(/word/g)?.length ?? 0, JSON.stringify(source));
  }
});

test("a text that grows reads as it would at once, wherever it was torn", () => {
  const pieces = [
    "a|b",
    "|-|-|",
    "|",
    "-",
    "- ",
    "1. ",
    "\n",
    "\n\n",
    "  ",
    "> ",
    "```",
    "~~~",
    "# ",
    "word",
    "*",
    "\r\n",
    "---",
    "`",
    "h",
  ];
  const random = seeded(7);
  for (let round = 0; round < 400; round += 1) {
    const read = growingMarkdown();
    let source = "";
    for (let step = 0; step < 40; step += 1) {
      source += pieces[Math.floor(random() * pieces.length)];
      const placed = read(source);
      assert.deepEqual(
        placed.map(({ block }) => block),
        parseMarkdown(source),
        JSON.stringify(source),
      );
      assert.ok(placed.every(({ at, end }, index) => at < end && end === (placed[index + 1]?.at ?? source.length)));
    }
  }
});

test("what stands still in a growing text is not read again", () => {
  const read = growingMarkdown();
  const before = read("One.\n\nTwo.\n\nThree.\n\nFo");

  const after = read("One.\n\nTwo.\n\nThree.\n\nFour.\n\nFive.");

  assert.equal(after.length, 5);
  assert.ok([0, 1].every((index) => after[index] === before[index]));
});

test("another text is read from its beginning", () => {
  const read = growingMarkdown();
  read("One.\n\nTwo.\n\nThree.");

  assert.deepEqual(pluck(read("Else."), "block"), parseMarkdown("Else."));
});
