/** For addresses that nothing is at. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { marked } from "../markdown/links";
import { Frame } from "./Frame";

export function MissingPage(): ReactNode {
  return (
    <Frame title="Not found">
      <div className="empty">
        <h2>There is no such page</h2>
        <p className="muted">Nothing is at {decoded(location.pathname)}. The address may be misspelt, or not whole.</p>
        <Link href="/" className="button">New session</Link>
      </div>
    </Frame>
  );
}

export function MissingSession({ embedded = false }: { embedded?: boolean }): ReactNode {
  return (
    <Frame title="Not found" embedded={embedded}>
      <div className="empty">
        <h2>There is no such session</h2>
        <p className="muted">It may belong to somebody else, or the address is not whole.</p>
        <Link href="/" className="button">New session</Link>
      </div>
    </Frame>
  );
}

/** As somebody typed it. */
function decoded(path: string): string {
  try {
    return marked(decodeURI(path));
  } catch {
    return path;
  }
}
