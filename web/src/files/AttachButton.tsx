/** Attach files by a button, or drop them anywhere in the window. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Paperclip } from "lucide-react";

export function AttachButton({ add }: { add: (files: File[]) => void }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const over = useDrop(add);
  return (
    <>
      <button type="button" className="button ghost" aria-label="Attach" onClick={() => input.current?.click()}>
        <Paperclip aria-hidden /> <span className="wide-only">Attach</span>
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          add([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      {over && <div className="drop-target">Drop the files to attach them</div>}
    </>
  );
}

function useDrop(add: (files: File[]) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const has = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const drag = (event: DragEvent): void => {
      if (!has(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => void (event.relatedTarget === null && setOver(false));
    const drop = (event: DragEvent): void => {
      if (!has(event)) return;
      event.preventDefault();
      setOver(false);
      add([...(event.dataTransfer?.files ?? [])]);
    };
    window.addEventListener("dragover", drag);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", drag);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, [add]);
  return over;
}
