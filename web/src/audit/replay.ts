/** The place in the log, and playing from it: one stop for each event. */
import { useCallback, useEffect, useState } from "react";
import type { LogEvent } from "./log";

const LONGEST = 10_000; // ms of a wait, where waits are skipped
const SHORTEST = 120; // ms, so that one can see it

export interface Replay {
  at: number;
  go: (at: number) => void;
  playing: boolean;
  play: () => void;
  speed: number;
  setSpeed: (speed: number) => void;
  skips: boolean;
  setSkips: (skips: boolean) => void;
}

export const SPEEDS = [0.5, 1, 2, 4, 8];

export function useReplay(events: LogEvent[]): Replay {
  const [at, setAt] = useState<number | null>(null);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const [skips, setSkips] = useState(true);
  const last = events.length - 1;
  const place = Math.max(0, Math.min(at ?? last, last));
  const go = useCallback((next: number) => setAt(Math.max(0, Math.min(next, last))), [last]);
  useEffect(() => {
    if (!playing) return;
    if (place >= last) return setPlaying(false);
    const pause = Date.parse(events[place + 1]!.timestamp) - Date.parse(events[place]!.timestamp);
    const ms = Math.max(SHORTEST, (skips ? Math.min(pause, LONGEST) : pause) / speed);
    const timer = setTimeout(() => go(place + 1), ms);
    return () => clearTimeout(timer);
  }, [playing, place, last, events, speed, skips, go]);
  const play = useCallback(() => {
    if (!playing && place >= last) setAt(0);
    setPlaying(!playing);
  }, [playing, place, last]);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (target.closest("input:not([type=range]), textarea, select, button, a")) return;
      const act = { ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1), " ": play }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [place, go, play]);
  return { at: place, go, playing, play, speed, setSpeed, skips, setSkips };
}
