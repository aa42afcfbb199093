/** Under an answer: its sources, by number. */
import type { ReactNode } from "react";
import { drawer } from "../ui/drawer";
import { SourceView } from "./SourceView";
import type { Source } from "./sources";

export function SourceList({ sources }: { sources: Source[] }): ReactNode {
  return (
    <div className="sources">
      <span className="muted">Sources</span>
      {sources.map((source) => (
        <button
          type="button"
          key={source.number}
          className="source"
          onClick={() => drawer.set({ title: source.title, body: <SourceView source={source} /> })}
        >
          <span className={source.doubtful ? "cite doubtful" : "cite"}>{source.number}{source.doubtful && "?"}</span>
          <span>{source.title}</span>
          {source.place && <span className="muted">{source.place}</span>}
        </button>
      ))}
    </div>
  );
}
