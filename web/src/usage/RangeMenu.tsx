/** Which days: the last 7, 30 or 90, or one's own. */
import { useState, type ReactNode } from "react";
import { CalendarDays } from "lucide-react";
import { Menu } from "../ui/Menu";
import { lastDays, type Range } from "./bill";

const day = (text: string): string =>
  new Date(`${text}T00:00:00`).toLocaleDateString("en-GB", { day: "numeric", month: "short" });

export function RangeMenu({ range, set }: { range: Range; set: (range: Range) => void }): ReactNode {
  const [own, setOwn] = useState(range);
  const valid = own.from !== "" && own.to !== "" && own.from <= own.to;
  const words = `${day(range.from)} – ${day(range.to)}`;
  return (
    <Menu className="chip" name={`Days: ${words}`} label={<><CalendarDays aria-hidden /> {words}</>}>
      {(close) => (
        <div className="menu-form">
          <div className="choices">
            {[7, 30, 90].map((days) => (
              <button key={days} type="button" className="chip" onClick={() => (set(lastDays(days)), close())}>{days} days</button>
            ))}
          </div>
          <label className="check">From <input type="date" value={own.from} onChange={(event) => setOwn({ ...own, from: event.target.value })} /></label>
          <label className="check">To <input type="date" value={own.to} onChange={(event) => setOwn({ ...own, to: event.target.value })} /></label>
          <button type="button" className="button" disabled={!valid} onClick={() => (set(own), close())}>Show</button>
        </div>
      )}
    </Menu>
  );
}
