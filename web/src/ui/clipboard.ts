/** What is copied: text, and the same as plain HTML, without this page's colours and buttons. */

const NOT_COPIED = "button, svg, input, figcaption, .cite-place, .off-screen, .footer, .badge";
// What a piece needs around it to be what it is: rows without their table are words.
const SHELLS = "table, thead, tbody, tr, ul, ol, pre, code, .segment";
const KEPT = ["href", "start", "colspan", "rowspan"];

export async function copy(text: string, html = ""): Promise<boolean> {
  try {
    const blobs = { "text/plain": new Blob([text], { type: "text/plain" }), ...(html && { "text/html": new Blob([html], { type: "text/html" }) }) };
    await navigator.clipboard.write([new ClipboardItem(blobs)]);
    return true;
  } catch {
    return copyByCommand(text, html); // plain http has no clipboard
  }
}

function copyByCommand(text: string, html: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  area.addEventListener("copy", (event) => put(event, text, html));
  document.body.append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}

/** For `onCopy`: the browser itself would copy the colours of the theme, and Word would show them. */
export function copySelection(event: ClipboardEvent): void {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || (event.target as Element).closest?.("input, textarea")) return;
  put(event, selection.toString(), htmlOf(selected(selection.getRangeAt(0))));
}

function put(event: ClipboardEvent, text: string, html: string): void {
  event.preventDefault();
  event.stopPropagation();
  event.clipboardData?.setData("text/plain", text);
  if (html) event.clipboardData?.setData("text/html", html);
}

function selected(range: Range): Node {
  let part: Node = range.cloneContents();
  const common = range.commonAncestorContainer;
  let around = common instanceof Element ? common : common.parentElement;
  for (; around?.matches(SHELLS); around = around.parentElement) {
    const shell = around.cloneNode(false) as Element;
    shell.append(part);
    part = shell;
  }
  return part;
}

/** Elements and words; of attributes only those that mean something elsewhere. */
export function htmlOf(...parts: Node[]): string {
  const box = document.createElement("div");
  box.append(...parts.map((part) => part.cloneNode(true)));
  box.querySelectorAll("th > button").forEach((each) => each.replaceWith(...each.childNodes)); // they sort
  box.querySelectorAll(NOT_COPIED).forEach((each) => each.remove());
  for (const element of box.querySelectorAll("*")) {
    const side = [...element.classList].find((name) => name.startsWith("align-"))?.slice("align-".length);
    for (const { name } of [...element.attributes]) if (!KEPT.includes(name)) element.removeAttribute(name);
    if (side) element.setAttribute("align", side);
    if (element.matches("table")) element.setAttribute("border", "1");
  }
  return box.innerHTML;
}
