/** Cost by day, split by agent or by model. */
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { agentName } from "../wire/config";
import { agentColour } from "../ui/agents";
import { Bars } from "./Bars";
import { series, type Bill, type Range } from "./bill";

interface Props {
  bill: Bill;
  range: Range;
  by: "agent" | "model";
  setBy: (by: "agent" | "model") => void;
}

export function Chart({ bill, range, by, setBy }: Props): ReactNode {
  const shown = series(bill, by, range);
  const [width, setWidth] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const resized = new ResizeObserver(() => setWidth(box.current!.clientWidth));
    resized.observe(box.current!);
    return () => resized.disconnect();
  }, []);
  // Where the days need more room than there is, the newest are in view.
  useLayoutEffect(() => void (box.current!.scrollLeft = box.current!.scrollWidth), [width, range]);
  const colourOf = (name: string): string => by === "agent" ? agentColour(name) : `a${(shown.names.indexOf(name) % 6) + 1}`;
  return (
    <figure className="chart">
      <figcaption>
        <h2>Cost by day</h2>
        <span className="legend">
          {shown.names.slice(0, 6).map((name) => (
            <span key={name}><i className={colourOf(name)} />{by === "agent" ? agentName(name) : name}</span>
          ))}
        </span>
        <span className="tabs" role="group" aria-label="Split by">
          {(["agent", "model"] as const).map((each) => (
            <button key={each} type="button" className={by === each ? "chip on" : "chip"} aria-pressed={by === each} onClick={() => setBy(each)}>
              {each === "agent" ? "Agent" : "Model"}
            </button>
          ))}
        </span>
      </figcaption>
      <div className="bars-scroll" ref={box} tabIndex={0} role="region" aria-label="Chart">
        {width > 0 && <Bars series={shown} colourOf={colourOf} width={width} />}
      </div>
    </figure>
  );
}
