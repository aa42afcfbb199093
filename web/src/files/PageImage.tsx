/** A picture that needs our token: fetched with the header, shown as a blob, let go afterwards. */
import { useEffect, useState, type ReactNode } from "react";
import { request, sentence } from "../wire/http";

interface Props {
  fileId: string;
  name: string;
  page?: number;
  width?: number;
}

export function PageImage({ fileId, name, page, width = 720 }: Props): ReactNode {
  const [address, setAddress] = useState<string | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    let made = "";
    const query = `width=${width}${page ? `&page=${page}` : ""}`;
    request("GET", `/api/files/${fileId}/thumbnail?${query}`, { signal: stop.signal })
      .then((response) => response.blob())
      .then((blob) => {
        if (stop.signal.aborted || !blob.type.startsWith("image/")) return;
        made = URL.createObjectURL(blob);
        setAddress(made);
      })
      .catch((error: unknown) => stop.signal.aborted || setFailed(sentence(error)));
    return () => {
      stop.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [fileId, page, width]);
  if (failed) return <p className="muted">{failed}</p>;
  const words = page ? `${name}, page ${page}` : name;
  return address ? <img className="page-image" src={address} alt={words} /> : <div className="skeleton page-image" />;
}
