/** A session's title, being changed in its place: Enter saves, Esc restores. What could not be saved stays to be tried again. */
import { useRef, useState, type ReactNode } from "react";
import { sentence } from "../wire/http";
import { change } from "../wire/sessions";

export function TitleField({ sessionId, title, done }: { sessionId: string; title: string; done: (byKey: boolean) => void }): ReactNode {
  const [text, setText] = useState(title);
  const [failed, setFailed] = useState("");
  const saving = useRef(false);
  const save = async (byKey: boolean): Promise<void> => {
    if (saving.current) return; // Enter saves, and takes the focus away
    if (!text.trim() || text === title) return done(byKey);
    saving.current = true;
    await change(sessionId, { title: text.trim() }).then(() => done(byKey), (error: unknown) => setFailed(sentence(error)));
    saving.current = false;
  };
  return (
    <>
      <input
        autoFocus
        dir="auto"
        aria-label="Title"
        aria-invalid={failed !== ""}
        className="title-field"
        value={text}
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
        onFocus={(event) => event.target.select()}
        onBlur={() => void save(false)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.nativeEvent.isComposing) void save(true);
          if (event.key !== "Escape") return;
          event.stopPropagation();
          done(true);
        }}
      />
      {failed && <small className="bad" role="alert">{failed}</small>}
    </>
  );
}
