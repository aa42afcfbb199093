/** For auditors: everybody's sessions, each with a way to its log. */
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { get, Problem, sentence } from "../wire/http";
import { Frame } from "../ui/Frame";
import { exact } from "../ui/format";
import { useShortcuts } from "../ui/shortcuts";

interface Row {
  id: string;
  title: string | null;
  userId?: string;
  user?: string;
  createdAt: string;
  lastActivityAt?: string;
}

export default function AuditList(): ReactNode {
  const [rows, setRows] = useState<Row[] | null>(null);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  useShortcuts({ stop: null });
  useEffect(() => {
    const stop = new AbortController();
    find(text, stop.signal)
      .then((found) => (setRows(found), setFailed("")))
      .catch((error: unknown) => stop.signal.aborted || setFailed(sentence(error)));
    return () => stop.abort();
  }, [text]);
  return (
    <Frame title="Audit">
      <div className="scroll">
        <div className="usage">
          <label className="search">
            <input type="search" value={text} onChange={(event) => setText(event.target.value)} placeholder="Search all sessions" aria-label="Search all sessions" />
          </label>
          {failed && <p className="notice bad" role="alert">{failed}</p>}
          <div className="table" role="region" aria-label="Sessions" tabIndex={0}>
            <table>
              <thead><tr><th>Session</th><th>User</th><th>Last activity</th></tr></thead>
              <tbody>
                {rows?.map((row) => (
                  <tr key={row.id}>
                    <td><Link href={`/s/${row.id}/audit`}>{row.title || "New session"}</Link></td>
                    <td>{row.userId ?? row.user ?? "you"}</td>
                    <td>{exact(row.lastActivityAt ?? row.createdAt)}</td>
                  </tr>
                ))}
                {!rows && !failed && <tr><td colSpan={3} className="muted" role="status">Loading…</td></tr>}
                {rows?.length === 0 && <tr><td colSpan={3} className="muted">No sessions.</td></tr>}
              </tbody>
            </table>
          </div>
        </div>
      </div>
    </Frame>
  );
}

/** Everybody's; one's own where the server has no such list. */
async function find(search: string, signal: AbortSignal): Promise<Row[]> {
  const query = search ? `?search=${encodeURIComponent(search)}` : "";
  try {
    return (await get<{ sessions: Row[] }>(`/api/audit/sessions${query}`, { signal })).sessions;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
    return (await get<{ sessions: Row[] }>(`/api/sessions${query}`, { signal })).sessions;
  }
}
