/** A modal dialog: the browser's own, which keeps the focus and gives it back. */
import { useEffect, useRef, type ReactNode } from "react";

interface Props {
  open: boolean;
  name: string;
  covers?: boolean; // nothing of the page is seen behind it
  close: (() => void) | null; // null: it cannot be closed
  children: ReactNode;
}

export function Dialog({ open, name, covers = false, close, children }: Props): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (open && element && !element.open) element.showModal();
    if (!open && element?.open) element.close();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      aria-label={name}
      className={covers ? "covers" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
    >
      {children}
    </dialog>
  );
}
