export default function UsagePage(_props: { id?: string }) { return null; }
