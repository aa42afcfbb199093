/** A file in the drawer: an image, or a document page by page. */
import { useState, type ReactNode } from "react";
import type { FileRef } from "../fold/screen";
import { size } from "../ui/format";
import { PageImage } from "./PageImage";

export function FileView({ file }: { file: FileRef }): ReactNode {
  const [page, setPage] = useState(1);
  const isImage = file.mediaType.startsWith("image/");
  const isPdf = file.mediaType === "application/pdf";
  if (!isImage && !isPdf) return <p className="muted">{file.mediaType}, {size(file.size)}. It cannot be shown here.</p>;
  const pages = file.pages ?? 1;
  return (
    <div className="file-view">
      {isPdf && (
        <div className="actions">
          <button type="button" className="button small" disabled={page <= 1} onClick={() => setPage(page - 1)}>
            Back
          </button>
          <span className="muted">
            Page {page} of {pages}
          </span>
          <button type="button" className="button small" disabled={page >= pages} onClick={() => setPage(page + 1)}>
            Next
          </button>
        </div>
      )}
      <PageImage fileId={file.id} name={file.name} page={isPdf ? page : undefined} />
    </div>
  );
}
