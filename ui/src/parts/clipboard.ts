/** The clipboard is only given to secure pages; on a plain address the old command still works. */
export async function writeClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way without a secure context
    document.execCommand("copy");
    area.remove();
  }
}
