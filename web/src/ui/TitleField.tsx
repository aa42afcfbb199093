/** A session's title, being changed in its place: Enter saves, Esc restores. */
import { useState, type ReactNode } from "react";
import { change } from "../wire/sessions";

export function TitleField({ sessionId, title, done }: { sessionId: string; title: string; done: () => void }): ReactNode {
  const [text, setText] = useState(title);
  const save = (): void => {
    if (text.trim() && text !== title) void change(sessionId, { title: text.trim() });
    done();
  };
  return (
    <input
      autoFocus
      aria-label="Title"
      className="title-field"
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === "Enter") save();
        if (event.key !== "Escape") return;
        event.stopPropagation();
        done();
      }}
    />
  );
}
