/** The page: its routes, and what stands over all of them. */
import { lazy, StrictMode, Suspense, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { Route, Router, Switch } from "wouter";
import "./ui/styles";
import { loadConfig } from "./wire/config";
import { connect } from "./wire/live";
import { at, root } from "./wire/place";
import { ApprovalsPage } from "./approvals/ApprovalsPage";
import { ChatPage } from "./chat/ChatPage";
import { NewPage } from "./chat/NewPage";
import { listen } from "./embed/host";
import { comeBack } from "./signin/code";
import { SignInDialog } from "./signin/SignInDialog";
import { Frame } from "./ui/Frame";
import { MissingPage } from "./ui/MissingPage";

const UsagePage = lazy(() => import("./usage/UsagePage"));
const AuditPage = lazy(() => import("./audit/AuditPage"));
const EmbedPage = lazy(() => import("./embed/EmbedPage"));
const AuditList = lazy(() => import("./audit/AuditList"));

function App(): ReactNode {
  return (
    <>
      <Suspense fallback={<Frame title=""><p className="muted loading" role="status">Loading…</p></Frame>}>
        <Switch>
          <Route path="/">{() => <NewPage />}</Route>
          <Route path="/s/:id">{({ id }) => <ChatPage key={id} id={id} />}</Route>
          <Route path="/s/:id/audit">{({ id }) => <AuditPage key={id} id={id} />}</Route>
          <Route path="/approvals">{() => <ApprovalsPage />}</Route>
          <Route path="/usage">{() => <UsagePage />}</Route>
          <Route path="/embed">{() => <EmbedPage />}</Route>
          <Route path="/audit">{() => <AuditList />}</Route>
          <Route>{() => <MissingPage />}</Route>
        </Switch>
      </Suspense>
      <SignInDialog />
    </>
  );
}

listen();
if (location.pathname === at("/signin")) await comeBack().catch(() => {});
connect();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Router base={root}>
      <App />
    </Router>
  </StrictMode>,
);
void loadConfig();
