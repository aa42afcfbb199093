/** The sources of one answer, numbered by their first use. The same source has the same number. */
import type { Answer, Citation, Words } from "../fold/screen";

export interface Source {
  number: number;
  title: string;
  place: string; // "page 3", or an address
  fileId: string | null;
  page: number | null;
  url: string | null;
  quotes: string[];
  doubtful: boolean; // the words are not in the source
}

export interface Sources {
  list: Source[];
  numbersOf: (part: Words) => number[];
}

export function sourcesOf(answer: Answer): Sources {
  const list: Source[] = [];
  const numbers = new Map<string, number>();
  const byPart = new Map<Words, number[]>();
  for (const part of answer.parts) {
    if (part.kind !== "words") continue;
    const own = part.citations.map((citation) => numberOf(citation, list, numbers));
    byPart.set(part, [...new Set(own)]);
  }
  return { list, numbersOf: (part) => byPart.get(part) ?? [] };
}

function numberOf(citation: Citation, list: Source[], numbers: Map<string, number>): number {
  const source = sourceOf(citation);
  const key = JSON.stringify([source.fileId, source.title, source.page, source.url, source.place, source.doubtful]);
  const known = numbers.get(key);
  const quote = text(citation["cited_text"] ?? citation["citedText"]);
  if (known !== undefined) {
    const quotes = list[known - 1]!.quotes;
    if (quote && !quotes.includes(quote)) quotes.push(quote);
    return known;
  }
  const number = list.push({ ...source, number: list.length + 1, quotes: quote ? [quote] : [] });
  numbers.set(key, number);
  return number;
}

function sourceOf(citation: Citation): Source {
  const file = (citation["file"] ?? {}) as { page?: number };
  const page = file.page ?? (citation["start_page_number"] as number | undefined);
  const url = text(citation["url"]) || null;
  return {
    number: 0,
    title: text(citation["document_title"]) || text(citation["title"]) || url || "Source",
    place: page ? `page ${page}` : (url ? hostOf(url) : text(citation["source"])),
    fileId: text(citation["fileId"] ?? citation["file_id"]) || null,
    page: page ?? null,
    url,
    quotes: [],
    doubtful: citation["verified"] === false,
  };
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "";
  }
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
