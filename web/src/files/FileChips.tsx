/** The files of a message that is being written. */
import type { ReactNode } from "react";
import { RotateCcw, X } from "lucide-react";
import { useValue } from "../wire/observable";
import type { Outbox } from "../wire/outbox";
import { size } from "../ui/format";
import { FileIcon } from "./FileCard";
import type { Upload, Uploads } from "./uploads";

export function FileChips({ outbox, uploads }: { outbox: Outbox; uploads: Uploads }): ReactNode {
  const { files } = useValue(outbox.draft);
  if (files.length === 0 && uploads.list.length === 0) return null;
  const detach = (id: string): void =>
    outbox.draft.update((draft) => ({ ...draft, files: draft.files.filter((one) => one.id !== id) }));
  return (
    <div className="chips">
      {files.map((file) => (
        <div className="file" key={file.id}>
          <FileIcon file={file} />
          <span className="file-words">
            <span className="file-name">{file.name}</span>
            <small>{[file.pages && (file.pages === 1 ? "1 page" : `${file.pages} pages`), size(file.size)].filter(Boolean).join(" · ")}</small>
          </span>
          <button type="button" className="icon-button" aria-label={`Remove ${file.name}`} onClick={() => detach(file.id)}>
            <X aria-hidden />
          </button>
        </div>
      ))}
      {uploads.list.map((upload) => (
        <UploadChip key={upload.key} upload={upload} uploads={uploads} />
      ))}
    </div>
  );
}

function UploadChip({ upload, uploads }: { upload: Upload; uploads: Uploads }): ReactNode {
  const isFailed = upload.state === "failed";
  const words = { waiting: "waiting", uploading: `uploading ${Math.round(upload.progress * 100)} %`, reading: "reading", failed: upload.why }[upload.state];
  return (
    <div className={isFailed ? "file failed" : "file"}>
      {isFailed ? <FileIcon file={{ id: "", name: upload.name, mediaType: upload.type }} /> : <span className="spinner" aria-hidden />}
      <span className="file-words">
        <span className="file-name">{upload.name}</span>
        <small role={isFailed ? "alert" : undefined}>{words}</small>
      </span>
      {upload.again && (
        <button type="button" className="icon-button" aria-label={`Try ${upload.name} again`} onClick={() => uploads.retry(upload)}>
          <RotateCcw aria-hidden />
        </button>
      )}
      <button type="button" className="icon-button" aria-label={`Remove ${upload.name}`} onClick={() => uploads.remove(upload)}>
        <X aria-hidden />
      </button>
    </div>
  );
}
