/** The slider: one stop for each event. */
import { useMemo, type ReactNode } from "react";
import { Pause, Play } from "lucide-react";
import { marksOf, type LogEvent } from "./log";
import { SPEEDS, type Replay } from "./replay";

export function ReplayBar({ events, replay }: { events: LogEvent[]; replay: Replay }): ReactNode {
  const { at, go, playing, play, speed, setSpeed, skips, setSkips } = replay;
  const event = events[at];
  const marks = useMemo(() => marksOf(events), [events]);
  const next = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length]!;
  return (
    <div className="replay">
      <button type="button" className="button" onClick={play} aria-label={playing ? "Pause" : "Play"}>
        {playing ? <Pause aria-hidden /> : <Play aria-hidden />}
      </button>
      <span className="replay-place">
        Event <b>{at}</b> of {Math.max(0, events.length - 1)}
      </span>
      <span className="replay-slider">
        <input type="range" min={0} max={Math.max(0, events.length - 1)} value={at} disabled={events.length === 0} onChange={(change) => go(Number(change.target.value))} aria-label="Place in the log" aria-valuetext={`Event ${at}, ${event?.type ?? ""}`} />
        {marks.length > 0 && (
          <svg className="ticks" height={6} role="img" aria-label={`Approvals in the log: ${marks.length} events`}>
            {marks.map(({ id, place, title }) => <rect key={id} x={`${place * 100}%`} width={2} height={6} className="tick"><title>{title}</title></rect>)}
          </svg>
        )}
      </span>
      <time className="wide-only">{event ? new Date(event.timestamp).toLocaleTimeString("en-GB") : ""}</time>
      <button type="button" className="chip" onClick={() => setSpeed(next)} aria-label={`Speed ${speed}`}>
        {speed}×
      </button>
      <button type="button" className={skips ? "chip on wide-only" : "chip wide-only"} aria-pressed={skips} onClick={() => setSkips(!skips)} title="No wait is longer than 10 seconds">
        Skip waits
      </button>
      <span className="muted wide-only">← → step · Space play</span>
    </div>
  );
}
