/** A file that belongs to a message: its picture or its kind, its name, its size. */
import type { ReactNode } from "react";
import type { FileRef } from "../fold/screen";
import { drawer } from "../ui/drawer";
import { size } from "../ui/format";
import { marked } from "../markdown/links";
import { FileView } from "./FileView";
import { PageImage } from "./PageImage";

export function FileCard({ file }: { file: FileRef }): ReactNode {
  const open = (): void => drawer.set({ title: file.name, body: <FileView file={file} /> });
  return (
    <button type="button" className="file" onClick={open} aria-label={`Open ${file.name}`}>
      <FileIcon file={file} />
      <span className="file-words">
        <span className="file-name">{marked(file.name)}</span>
        <small>{[file.pages && (file.pages === 1 ? "1 page" : `${file.pages} pages`), size(file.size)].filter(Boolean).join(" · ")}</small>
      </span>
    </button>
  );
}

export function FileIcon({ file }: { file: Pick<FileRef, "id" | "name" | "mediaType"> }): ReactNode {
  if (file.mediaType.startsWith("image/") && file.id) {
    return (
      <span className="file-icon">
        <PageImage fileId={file.id} name={file.name} width={96} />
      </span>
    );
  }
  const kind = file.mediaType === "application/pdf" ? "PDF" : (file.name.split(".").at(-1) ?? "").slice(0, 4).toUpperCase();
  return <span className={kind === "PDF" ? "file-icon pdf" : "file-icon"}>{kind || "FILE"}</span>;
}
