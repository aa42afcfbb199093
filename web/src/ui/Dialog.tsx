/** A modal dialog: the browser's own, which keeps the focus and gives it back. */
import { useEffect, useRef, type ReactNode } from "react";

interface Props {
  open: boolean;
  name: string;
  close: (() => void) | null; // null: it cannot be closed
  children: ReactNode;
}

export function Dialog({ open, name, close, children }: Props): ReactNode {
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
      onCancel={(event) => {
        event.preventDefault();
        close?.();
      }}
    >
      {children}
    </dialog>
  );
}
