/** The chat inside of another page: one session, without the list. */
import { useEffect, useState, type ReactNode } from "react";
import { useSearchParams } from "wouter";
import { ChatPage } from "../chat/ChatPage";
import { create } from "../wire/sessions";
import { sentence } from "../wire/http";
import { tell } from "./host";

export default function EmbedPage(): ReactNode {
  const [search] = useSearchParams();
  const given = search.get("session");
  const [id, setId] = useState(given);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    if (given) return;
    let gone = false;
    create()
      .then((session) => gone || setId(session.id))
      .catch((error: unknown) => gone || setFailed(sentence(error)));
    return () => void (gone = true);
  }, [given]);
  useEffect(() => {
    if (id) tell({ turnlog: "session", id });
  }, [id]);
  if (failed) return <p className="bad loading" role="alert">{failed}</p>;
  return id ? <ChatPage key={id} id={id} embedded /> : <p className="muted loading" role="status">Loading…</p>;
}
