/**
 * Cuts Markdown into blocks that mean the same alone as in the whole text, so that of a growing text only the last is
 * read again. Where that cannot be (a link or footnote defined elsewhere in the text) the whole text is one block.
 */
export function splitBlocks(text: string): string[] {
  if (DEFINITION.test(text)) return [text];
  const cutter = new Cutter();
  for (const line of text.split("\n")) cutter.line(line);
  return cutter.finish();
}

const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const HTML = /^ {0,3}<(?:!--|[?!]|(?:script|pre|style|textarea)\b)/i;
const HTML_END = /-->|\?>|<\/(?:script|pre|style|textarea)>/i;

class Cutter {
  private readonly blocks: string[] = [];
  private lines: string[] = [];
  private fence: string | null = null;
  private html = false;
  private list = false;
  private blank = false;

  line(line: string): void {
    if (this.startsBlock(line)) this.cut();
    this.lines.push(line);
    this.follow(line);
    this.blank = this.fence === null && !this.html && line.trim() === "";
  }

  finish(): string[] {
    this.cut();
    return this.blocks;
  }

  /** After a blank line, at the left edge, and not a further item of an open list. */
  private startsBlock(line: string): boolean {
    if (!this.blank || line.trim() === "" || /^(?: {2}|\t| \t)/.test(line)) return false;
    return !(this.list && (LIST_ITEM.test(line) || line.startsWith(" ")));
  }

  private follow(line: string): void {
    const fence = FENCE.exec(line.trimStart())?.[1];
    if (this.fence !== null) {
      const closes = fence?.startsWith(this.fence) === true && line.trim() === fence;
      if (closes) this.fence = null;
    } else if (this.html) {
      this.html = !HTML_END.test(line);
    } else if (fence !== undefined) {
      this.fence = fence;
    } else if (HTML.test(line)) {
      this.html = !HTML_END.test(line);
    } else if (LIST_ITEM.test(line)) {
      this.list = true;
    }
  }

  private cut(): void {
    const block = this.lines.join("\n").replace(/^\n+|\s+$/g, "");
    if (block !== "") this.blocks.push(block);
    this.lines = [];
    this.list = false;
    this.blank = false;
  }
}
