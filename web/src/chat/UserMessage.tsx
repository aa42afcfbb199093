/** What the user asked, with the files that went along. */
import type { ReactNode } from "react";
import type { FileRef } from "../fold/screen";
import { FileCard } from "../files/FileCard";

interface Props {
  id: string;
  text: string;
  files: FileRef[];
  at: string;
  pending?: boolean; // the server has not confirmed it yet
}

export function UserMessage({ id, text, files, pending }: Props): ReactNode {
  return (
    <article className={pending ? "question pending" : "question"} aria-label="Your message" data-row={id}>
      {files.length > 0 && (
        <div className="question-files">
          {files.map((file) => (
            <FileCard key={file.id} file={file} />
          ))}
        </div>
      )}
      <div className="bubble">{text}</div>
    </article>
  );
}
