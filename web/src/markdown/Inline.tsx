/** Inline tokens to elements. Marks of citations are behind private characters: see `Text`. */
import { Fragment, memo, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { ExternalLink } from "lucide-react";
import { decoded } from "./entities";
import { realHost, safeUrl } from "./links";
import { OPEN, withoutMarks } from "./marks";
import { useMark } from "./MarkContext";

export function inline(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, at) => <Piece key={at} token={token} />);
}

const Piece = memo(function Piece({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case "br":
      return <br />;
    case "codespan":
      return <code>{withoutMarks((token as Tokens.Codespan).text)}</code>;
    case "link":
      return <Link token={token as Tokens.Link} />;
    case "image":
      return <span className="not-loaded">Image: {withoutMarks(token["text"] as string) || "without a name"} (not loaded)</span>;
    case "escape":
      return <Text text={token["text"] as string} />;
    default: {
      const nested = (token as { tokens?: Token[] }).tokens;
      return nested ? inline(nested) : <Text text={decoded((token as { text?: string }).text ?? token.raw)} />;
    }
  }
});

const Text = ({ text }: { text: string }): ReactNode => (text.includes(OPEN) ? <Cited text={text} /> : text);

function Cited({ text }: { text: string }): ReactNode {
  const mark = useMark();
  return text.split(new RegExp(`${OPEN}(\\d+)\uE001`)).map((piece, at) =>
    at % 2 ? <Fragment key={at}>{mark(Number(piece))}</Fragment> : piece,
  );
}

function Link({ token }: { token: Tokens.Link }): ReactNode {
  const url = safeUrl(withoutMarks(decoded(token.href)));
  const words = withoutMarks(token.text);
  if (!url) return <span className="no-link">{inline(token.tokens)}</span>;
  const host = realHost(words, url);
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
      {inline(token.tokens)}
      {url.protocol !== "mailto:" && <ExternalLink className="outside" aria-label="opens another site" />}
      {host && <span className="host"> ({host})</span>}
    </a>
  );
}
