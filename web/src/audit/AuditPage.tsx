export default function AuditPage(_props: { id?: string }) { return null; }
