/** A thought: open and following its end while it is written, then one line. */
import { useLayoutEffect, useRef, type ReactNode } from "react";
import { ChevronRight } from "lucide-react";
import type { Thought as ThoughtPart } from "../fold/screen";
import { count, duration } from "../ui/format";
import { useSeconds } from "../ui/time";
import { usePanel } from "./panels";

interface Props {
  id: string;
  thought: ThoughtPart;
  live: boolean; // it is being written now
}

export function Thought({ id, thought, live }: Props): ReactNode {
  const [open, toggle] = usePanel(`thought:${id}`, live);
  const seconds = useSeconds(live ? thought.startedAt : null);
  const text = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (live && text.current) text.current.scrollTop = text.current.scrollHeight;
  }, [live, thought.content]);
  if (thought.redacted) return <p className="thought-line">Thought, hidden by the model’s safety system</p>;
  const label = live ? `Thinking… ${seconds} s` : thoughtFor(thought);
  return (
    <div className="thought" data-live={live || undefined}>
      <button type="button" className="thought-line" aria-expanded={open} onClick={toggle}>
        <ChevronRight className="chevron" aria-hidden />
        {label}
      </button>
      {open && (
        <div className="thought-text" dir="auto" ref={text} tabIndex={0} role="region" aria-label="Thought">
          {thought.content}
        </div>
      )}
    </div>
  );
}

function thoughtFor(thought: ThoughtPart): string {
  const time = thought.duration === null ? "Thought" : `Thought for ${duration(thought.duration)}`;
  return thought.tokens === null ? time : `${time} · ${count(thought.tokens)} tokens`;
}
