/** The one live region of the page: polite for events, assertive for what went wrong. */
import { useEffect, useState, type ReactNode } from "react";
import { connection } from "../wire/live";
import { useValue } from "../wire/observable";

const SETTLE = 300; // ms that a text must stand before it is spoken

export function Announcer({ text, urgent }: { text: string; urgent: string }): ReactNode {
  const lost = useValue(connection) === "offline" ? "No connection" : "";
  return (
    <>
      <div className="off-screen" role="status" aria-live="polite">{useFresh(text)}</div>
      <div className="off-screen" role="alert">{useFresh(urgent || lost)}</div>
    </>
  );
}

/** What was there when the page opened is not news. */
function useFresh(text: string): string {
  const [old] = useState({ text });
  const [spoken, setSpoken] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSpoken(text === old.text ? "" : text), SETTLE);
    return () => clearTimeout(timer);
  }, [text, old]);
  return spoken;
}
