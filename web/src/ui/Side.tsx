/** At the left: a new session, a search, the list, and the other pages. */
import { memo, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { ChartColumn, History, Keyboard, Plus, ShieldCheck } from "lucide-react";
import { isAuditor, me } from "../wire/config";
import { useValue } from "../wire/observable";
import { signOut, token } from "../wire/token";
import { usePending } from "../approvals/pending";
import { helpShown } from "./shortcuts";
import { SessionList } from "./SessionList";
import { ThemeButton } from "./ThemeButton";

/** Not drawn again with each piece of an answer. */
export const Side = memo(function Side({ active, close }: { active?: string; close: () => void }): ReactNode {
  const who = useValue(me);
  const pending = usePending();
  return (
    <>
      <div className="brand">
        <span className="logo" aria-hidden />
        <span className="side-words">turnlog</span>
      </div>
      <Link href="/" className="button new" onClick={close} aria-label="New session">
        <Plus aria-hidden /> <span className="side-words">New session</span> <kbd className="side-words">N</kbd>
      </Link>
      <SessionList active={active} />
      <div className="places">
        <Place href="/approvals" icon={<ShieldCheck aria-hidden />} words="Approvals" count={pending.length} />
        <Place href="/usage" icon={<ChartColumn aria-hidden />} words="Usage and cost" />
        {isAuditor(who) && <Place href="/audit" icon={<History aria-hidden />} words="Audit" />}
        <div className="side-tools">
          <ThemeButton />
          <button type="button" className="icon-button" aria-label="Keys" title="Keys" onClick={() => helpShown.set(true)}>
            <Keyboard aria-hidden />
          </button>
          {token.get() && (
            <button type="button" className="button ghost small side-words" onClick={signOut}>
              Sign out {who?.id}
            </button>
          )}
        </div>
      </div>
    </>
  );
});

function Place({ href, icon, words, count = 0 }: { href: string; icon: ReactNode; words: string; count?: number }): ReactNode {
  const [place] = useLocation();
  return (
    <Link href={href} className={place === href ? "place on" : "place"} aria-current={place === href ? "page" : undefined} aria-label={count ? `${words}, ${count} open` : words}>
      {icon}
      <span className="side-words">{words}</span>
      {count > 0 && <b className="count">{count}</b>}
    </Link>
  );
}
