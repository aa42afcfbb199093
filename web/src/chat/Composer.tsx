/** Where the user writes. A plain field: nothing is read while it is typed in. */
import { useEffect, useLayoutEffect, useRef, type ClipboardEvent, type KeyboardEvent, type ReactNode } from "react";
import { ArrowUp, Square } from "lucide-react";
import { config } from "../wire/config";
import { useValue } from "../wire/observable";
import type { Outbox } from "../wire/outbox";
import { directionOf } from "../ui/direction";
import { count } from "../ui/format";
import { AttachButton } from "../files/AttachButton";
import { useBigPaste } from "../files/BigPaste";
import { FileChips } from "../files/FileChips";
import { useUploads } from "../files/uploads";
import { inWords, useEstimate } from "./estimate";
import { ThinkingMenu, type ThinkingChoice } from "./ThinkingMenu";

interface Props {
  outbox: Outbox;
  busy: boolean; // a turn runs or waits
  waits: string | null; // for whom, in words
  offline: boolean;
  refused: string | null; // why nothing can be sent
  thinking: ThinkingChoice;
  send: () => void;
  stop: (() => void) | null;
  stopping?: boolean; // it was asked for
  lastOwn: () => string;
  above?: ReactNode;
}

export function Composer(props: Props): ReactNode {
  const { outbox, busy, waits, offline, refused, thinking, send, stop, stopping = false, lastOwn, above } = props;
  const draft = useValue(outbox.draft);
  const uploads = useUploads(outbox);
  const { pasted, offer } = useBigPaste(outbox, uploads);
  const field = useRef<HTMLTextAreaElement>(null);
  const most = useValue(config)?.limits.maxCharacters ?? 200_000;
  const loading = uploads.list.filter((one) => one.state !== "failed").length;
  const isEmpty = !draft.text.trim() && draft.files.length === 0;
  const over = draft.text.length - most;
  const blocked = isEmpty || over > 0 || refused !== null;
  const estimate = useEstimate(outbox.sessionId, draft, !busy && !blocked);
  useLayoutEffect(() => grow(field.current), [draft.text]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [outbox]);

  const submit = (): void => {
    if (blocked) return;
    if (loading > 0) return uploads.whenReady(send);
    send();
    field.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    const composing = event.nativeEvent.isComposing || event.keyCode === 229;
    if (event.key === "Enter" && !event.shiftKey && !composing) {
      event.preventDefault();
      submit();
    }
    if (event.key === "ArrowUp" && draft.text === "") {
      const text = lastOwn();
      if (text) {
        event.preventDefault();
        outbox.write(text);
      }
    }
  };
  const paste = (event: ClipboardEvent): void => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return pasted(event.clipboardData.getData("text/plain"));
    event.preventDefault();
    uploads.add(files);
  };
  const label = offline ? "Send when back" : busy ? "Queue" : "Send";
  return (
    <div className="composer">
      {above}
      {offer}
      <div className="composer-box">
        <FileChips outbox={outbox} uploads={uploads} />
        <textarea
          ref={field}
          value={draft.text}
          rows={1}
          dir={directionOf(draft.text)}
          onChange={(event) => outbox.write(event.target.value)}
          onKeyDown={press}
          onPaste={paste}
          disabled={refused !== null}
          placeholder={refused ?? (busy ? "Next message, sent after this turn" : "Write a message")}
          aria-label="Message"
          aria-invalid={over > 0}
        />
        {over > 0 && (
          <p className="bad small-text" role="status">
            This message is {count(over)} {over === 1 ? "character" : "characters"} too long. Shorten it, or attach it as a file.
          </p>
        )}
        <div className="composer-row">
          <AttachButton add={uploads.add} />
          <ThinkingMenu choice={thinking} />
          <span className="grow" />
          {draft.text.length >= most * 0.9 && (
            <span className={over > 0 ? "bad small-text length" : "muted small-text length"}>
              {count(draft.text.length)} of {count(most)}
            </span>
          )}
          {estimate && !estimate.wouldExceedBudget && (
            <span className="muted small-text estimate" title="What the model would be told, at the price of input. The answer comes on top.">
              {inWords(estimate)}
            </span>
          )}
          {estimate?.wouldExceedBudget && <span className="pill warn estimate" role="status">Would exceed the budget</span>}
          {loading > 0 && <span className="pill">Sends when {loading === 1 ? "1 file is" : `${loading} files are`} ready</span>}
          {waits && <span className="pill warn">{waits}</span>}
          {stop && (
            <button type="button" className="button" onClick={stop}>
              {stopping ? <><span className="spinner" aria-hidden /> Stopping…</> : <><Square aria-hidden /> Stop <kbd>Esc</kbd></>}
            </button>
          )}
          {(!stop || !isEmpty) && (
            <button type="button" className="button primary send" onClick={submit} disabled={blocked} aria-label={label} title={label}>
              {offline || busy ? label : <ArrowUp aria-hidden />}
            </button>
          )}
        </div>
      </div>
    </div>
  );
}

/** As high as its text, up to a part of the window; then it scrolls. CSS has the limit. */
function grow(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}
