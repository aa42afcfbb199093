/** A source in the drawer: the cited text on top, then the page it stands on. */
import type { ReactNode } from "react";
import { safeUrl } from "../markdown/links";
import { PageImage } from "./PageImage";
import type { Source } from "./sources";

export function SourceView({ source }: { source: Source }): ReactNode {
  const url = source.url ? safeUrl(source.url) : null;
  return (
    <div className="source-view">
      {source.place && <p className="muted">{source.place}</p>}
      {source.doubtful && <p className="doubtful">These words were not found in the source.</p>}
      {source.quotes.map((quote, at) => (
        <blockquote key={at}>{quote}</blockquote>
      ))}
      {url && (
        <p>
          <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
            Open {url.host}
          </a>
        </p>
      )}
      {source.fileId && <PageImage fileId={source.fileId} page={source.page ?? 1} name={source.title} />}
    </div>
  );
}
