import { render } from "@testing-library/react";
import { renderToStaticMarkup } from "react-dom/server";
import ReactMarkdown from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { describe, expect, it } from "vitest";
import { splitBlocks } from "./blocks";
import { Markdown } from "./Markdown";

const HOSTILE = [
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  '<iframe srcdoc="<script>alert(1)</script>">',
  "[a](javascript:alert(1))",
  '<a href=" JaVaScRiPt:alert(1)">link</a>',
  "![x](javascript:alert(1))",
  "<script>alert(1)</script>",
];

function assertHarmless(root: HTMLElement): void {
  expect(root.querySelectorAll("script, iframe, img, svg[onload], object, embed")).toHaveLength(0);
  for (const element of root.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      expect(name).not.toMatch(/^on/i);
      expect(value).not.toMatch(/^\s*javascript:/i);
    }
  }
}

describe("UI-03 HTML in an answer", () => {
  it.each(HOSTILE)("stays text and runs nothing: %s", (text) => {
    const { container } = render(<Markdown text={`before ${text} after\n\n${text}`} />);
    assertHarmless(container);
    expect(container).toHaveTextContent("before");
    expect(container).toHaveTextContent("after");
  });

  it.each(HOSTILE)("runs nothing when it comes piece by piece: %s", (text) => {
    const { container, rerender } = render(<Markdown text="" />);
    for (let end = 1; end <= text.length; end += 1) {
      rerender(<Markdown text={text.slice(0, end)} />);
      assertHarmless(container);
    }
  });

  it.each(HOSTILE.filter((text) => text.startsWith("<")))("is readable as it was written: %s", (text) => {
    const { container } = render(<Markdown text={`${text}\n\nin a ${text} line`} />);
    const [alone, within] = container.querySelectorAll("p");
    expect(alone).toHaveTextContent(text);
    expect(within).toHaveTextContent(`in a ${text} line`);
  });

  it("breaks a line where a table's cell asks for it", () => {
    const { getByRole } = render(<Markdown text={"| a |\n|---|\n| one<br>two<br/>three |"} />);
    expect(getByRole("cell").querySelectorAll("br")).toHaveLength(2);
    expect(getByRole("cell")).toHaveTextContent("onetwothree");
  });

  it("leaves ordinary Markdown working", () => {
    const { getByRole } = render(<Markdown text={"# Head\n\n**bold** [out](https://example.org)\n\n| a |\n|---|\n| b |"} />);
    expect(getByRole("heading", { name: "Head" })).toBeInTheDocument();
    expect(getByRole("link", { name: "out" })).toHaveAttribute("rel", "noreferrer noopener");
    expect(getByRole("cell", { name: "b" })).toBeInTheDocument();
  });

  it("never loads an image, and shows where it would have come from", () => {
    const { container, getByRole } = render(<Markdown text="![a chart](https://elsewhere.example/x.png?secret=1)" />);
    expect(container.querySelector("img")).toBeNull();
    expect(getByRole("link", { name: "Image: a chart" })).toBeInTheDocument();
  });
});

const PARTS = [
  "A first paragraph with **bold** and `code`.\nIts second line.",
  "1. one\n\n   still one\n\n2. two\n   - nested\n\n   - nested again",
  "```python\ndef f():\n\n    return 1\n\n\n# [not]: a definition\n```",
  "> quoted\n> on\n\n> another quote",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "- [x] done\n- [ ] open\n\n\n- far item",
  "## A heading\nText directly below.",
  "    indented code\n\n    goes on",
  "~~~\nunclosed until\n\n```\nhere\n~~~",
  "Setext\n======\n\n---\n\nText after a rule.",
  "Term 🐢 with *emphasis*, ~~gone~~ and https://example.org/path.",
];

function whole(text: string): string {
  return renderToStaticMarkup(
    <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]}>
      {text}
    </ReactMarkdown>,
  );
}

const joined = (text: string) => splitBlocks(text).map(whole).join("\n");

describe("blocks", () => {
  it.each(PARTS)("mean alone what they mean in the whole text: %j", (part) => {
    const text = `before\n\n${part}\n\nafter`;
    expect(joined(text)).toBe(whole(text));
  });

  it("mean the same in every order of two", () => {
    for (const a of PARTS) {
      for (const b of PARTS) {
        expect(joined(`${a}\n\n${b}`)).toBe(whole(`${a}\n\n${b}`));
      }
    }
  });

  it("are one where something is defined elsewhere in the text", () => {
    expect(splitBlocks("See [it][1].\n\n[1]: https://example.org")).toHaveLength(1);
    expect(splitBlocks("Claim.[^1]\n\n[^1]: Proof.")).toHaveLength(1);
  });

  it("lose no character that is not white space", () => {
    const text = PARTS.filter((part) => !part.includes("]: a definition")).join("\n\n");
    expect(splitBlocks(text).join("").replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
  });
});

/** Markdown of about this many tokens, with lists and code. */
function answerOf(tokens: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; pieces.length < tokens; at += 1) {
    pieces.push(`Paragraph ${at} `, "with **bold** ", "and `code`.", "\n\n", "- item\n", "- item\n\n");
    if (at % 5 === 0) pieces.push("```\n", "code ", "more\n", "```\n\n");
  }
  return pieces.slice(0, tokens);
}

function stream(tokens: number): { parsed: number; html: string; text: string } {
  let parsed = 0;
  const count = (block: string) => {
    parsed += block.length;
  };
  const { container, rerender, unmount } = render(<Markdown text="" onParse={count} />);
  let text = "";
  for (const piece of answerOf(tokens)) {
    text += piece;
    rerender(<Markdown text={text} onParse={count} />);
  }
  const html = container.innerHTML;
  unmount();
  return { parsed, html, text };
}

describe("UI-15 a long answer", () => {
  it("costs for twice the tokens at most three times as much parsing, and ends as the whole text would", () => {
    const half = stream(250);
    const double = stream(500);
    expect(double.parsed).toBeLessThan(half.parsed * 3);
    const { container } = render(<Markdown text={double.text} />);
    expect(double.html).toBe(container.innerHTML);
  }, 30_000);

  it("parses a finished block no more", () => {
    const parsed: string[] = [];
    const onParse = (block: string) => parsed.push(block);
    const { rerender } = render(<Markdown text={"first\n\nsec"} onParse={onParse} />);
    parsed.length = 0;
    rerender(<Markdown text={"first\n\nsecond\n\nthird"} onParse={onParse} />);
    expect(new Set(parsed)).toEqual(new Set(["second", "third"]));
  });
});
