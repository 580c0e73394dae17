/** A time in which the breaker was open, in monotonic milliseconds. */
export interface HeldSpan {
  readonly from: number;
  /** Undefined while it is open. */
  readonly until: number | undefined;
}

/** Older ones grow together: then less time counts, never more. */
const MAX_SPANS = 64;

/** The spans after the breaker was looked at: `isHolding` now, at `at`. */
export function heldSpansAfter(
  spans: readonly HeldSpan[],
  isHolding: boolean,
  at: number,
): readonly HeldSpan[] {
  const last = spans.at(-1);
  const isOpen = last !== undefined && last.until === undefined;
  if (isOpen === isHolding) return spans;
  if (isOpen) return [...spans.slice(0, -1), { from: last.from, until: at }];
  const [first, second, ...rest] = spans;
  const kept =
    spans.length < MAX_SPANS || !first || !second
      ? spans
      : [{ from: first.from, until: second.until }, ...rest];
  return [...kept, { from: at, until: undefined }];
}

/** Milliseconds between two moments in which no span holds. */
export function freeTime(
  spans: readonly HeldSpan[],
  { from, until }: { readonly from: number; readonly until: number },
): number {
  const held = spans.reduce((sum, span) => {
    const end = Math.min(until, span.until ?? until);
    return sum + Math.max(0, end - Math.max(from, span.from));
  }, 0);
  return until - from - held;
}

/** Whether that moment lies in a span. */
export function isHeldAt(spans: readonly HeldSpan[], at: number): boolean {
  return spans.some(({ from, until }) => at >= from && (until === undefined || at < until));
}
