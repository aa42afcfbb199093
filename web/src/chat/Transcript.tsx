/** The conversation: rows, kept in place while older ones come above and newer ones below. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Virtualizer } from "virtua";
import { ArrowDown } from "lucide-react";
import type { Conversation, Shown } from "../wire/conversation";
import { rowsOf, type Row } from "./rows";
import { RowView } from "./RowView";
import { useFollowing } from "./following";
import { copySelection } from "../ui/clipboard";
import { usePrinting } from "../ui/printing";

const MANY = 200; // rows from which only those in view are drawn
const ABOVE = 60; // px of what stands before the first row
const AHEAD = 600; // px from the top at which the page above is loaded

interface Props {
  conversation: Conversation | null;
  shown: Shown;
  sent: number; // how often the user has sent something from here
  children?: ReactNode; // below the last row
}

export function Transcript({ conversation, shown, sent, children }: Props): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => rowsOf(shown.screen.turns), [shown.screen.turns]);
  const virtual = useVirtual(rows.length);
  const { follows, toEnd, pin } = useFollowing(box, rows);
  const shifting = useAnchor(box, rows, follows, virtual);
  useLayoutEffect(pin);
  useLayoutEffect(() => void (sent && toEnd()), [sent, toEnd]); // what one has just written is in view
  useEffect(() => {
    const element = box.current;
    if (!element || !conversation) return;
    const look = (): void => {
      if (element.scrollTop < AHEAD) void conversation.loadOlder();
    };
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, [conversation]);
  const printing = usePrinting();
  const views = rows.map((row) => <RowView key={row.key} row={row} />);
  const whole = shown.status === "ready" && shown.before === null && rows.length > 0;
  return (
    <div className="scroll-frame">
      <div className="scroll" ref={box} role="log" aria-live="off" aria-label="Conversation" tabIndex={0} onCopy={(event) => copySelection(event.nativeEvent)}>
        <div className="column">
          <p className={whole ? "beginning muted" : "beginning hidden"}>Beginning of the session</p>
          {shown.before !== null && <p className="on-paper beginning muted">The session begins earlier. This is what was loaded of it.</p>}
          {virtual ? (
            <div className="off-paper">
              <Virtualizer scrollRef={box} shift={shifting} bufferSize={800} startMargin={ABOVE}>
                {views}
              </Virtualizer>
            </div>
          ) : (
            views
          )}
          {virtual && printing && <div className="on-paper">{views}</div>}
          {children}
        </div>
      </div>
      {shown.older && <Skeletons />}
      {!follows && (
        <button type="button" className="to-end" onClick={toEnd} aria-label="To the end of the conversation">
          <ArrowDown aria-hidden />
        </button>
      )}
    </div>
  );
}

/** Once it is virtual it stays so: rows that change their parent would lose selection and focus. */
function useVirtual(rows: number): boolean {
  const virtual = useRef(false);
  virtual.current ||= rows > MANY;
  return virtual.current;
}

/** When rows come above, what is in view stays where it is. */
function useAnchor(box: React.RefObject<HTMLDivElement | null>, rows: Row[], follows: boolean, virtual: boolean): boolean {
  const first = useRef<string | null>(null);
  const height = useRef(0);
  const [, settle] = useState(0);
  const prepended = first.current !== null && rows.length > 0 && rows[0]!.key !== first.current && rows.some((row) => row.key === first.current);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (prepended && !virtual && !follows) element.scrollTop += element.scrollHeight - height.current;
    first.current = rows[0]?.key ?? null;
    height.current = element.scrollHeight;
    if (prepended) settle((n) => n + 1);
  });
  return prepended;
}

function Skeletons(): ReactNode {
  return (
    <div className="older" aria-label="Loading older messages" role="status">
      <div className="skeleton line" />
      <div className="skeleton line" />
      <div className="skeleton line short" />
    </div>
  );
}
