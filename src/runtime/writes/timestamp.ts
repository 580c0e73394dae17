/** RFC 3339 in whole seconds, as metav1.Time is written: `2026-11-20T10:00:00Z`. */
export function timestampOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with microseconds, as metav1.MicroTime is written: `2026-11-20T10:00:00.123000Z`. */
export function microTimestampOf(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 23)}000Z`;
}
