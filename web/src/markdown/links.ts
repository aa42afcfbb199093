/** Which addresses may be links, and what a reader must be told about them. */

const SAFE = new Set(["https:", "http:", "mailto:"]);
// Characters that turn, hide or join what stands around them.
const HIDDEN = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** The address, if a click on it can do no more than open a page. */
export function safeUrl(href: string): URL | null {
  try {
    const url = new URL(href);
    return SAFE.has(url.protocol) ? url : null;
  } catch {
    return null; // relative ones too: they would lead into this page
  }
}

/** The host, where the words of the link look like another address. */
export function realHost(text: string, url: URL): string | null {
  const claimed = /(?:[a-z0-9-]+\.)+[a-z]{2,}/i.exec(text)?.[0]?.toLowerCase();
  if (!claimed) return HIDDEN.test(text) ? url.host : null;
  return url.host.toLowerCase() === claimed || url.host.endsWith(`.${claimed}`) ? null : url.host;
}

/** Hidden characters made visible: somebody may have put them there to deceive. */
export function marked(text: string): string {
  return text.replace(HIDDEN, (hidden) => `⟨U+${hidden.codePointAt(0)!.toString(16).toUpperCase()}⟩`);
}
