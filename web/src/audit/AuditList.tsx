export default function AuditList(_props: { id?: string }) { return null; }
